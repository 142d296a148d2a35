"""What was asked of the model, over all calls of a run: decoding, tools, system prompt, seed, and who answered."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pairmark.domain.canonical import digest_of, digest_of_bytes
from pairmark.domain.documents.run import REQUIRED_DECODING_KEYS
from pairmark.domain.strict_json import MAX_SAFE_INTEGER
from pairmark.importers.inspect.turns import Conversation, prompt_of

NOT_DECODING = frozenset(
    {
        "max_retries", "timeout", "attempt_timeout", "stream_idle_timeout", "max_connections", "adaptive_connections", "cache_prompt",
        "cache", "batch", "extra_headers", "system_message", "seed", "logprobs", "top_logprobs", "prompt_logprobs", "fail_on_refusal",
    }
)  # fmt: skip
"""Fields of Inspect's generate config that do not change what a model says, are recorded elsewhere, or may hold secrets."""


def decoding_of(config: Any) -> dict[str, Any]:
    """What a generate config sends: the required keys, null where they are not set, and whatever else is. Objects as their digest."""
    set_ = {name: value for name, value in _set_in(config).items() if name not in NOT_DECODING}
    return {**dict.fromkeys(REQUIRED_DECODING_KEYS), **set_}


def asked_of(config: Any) -> dict[str, Any]:
    """Every field that a generate config may send, null where it is not set: a key that is not among them is left open."""
    return {**dict.fromkeys(type(config).model_fields), **_set_in(config)}


def _set_in(config: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in config.model_dump(mode="json", exclude_none=True).items():
        if isinstance(value, dict):
            found[name] = digest_of_bytes(json.dumps(value, sort_keys=True, separators=(",", ":")).encode())
        elif isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_SAFE_INTEGER:
            found[name] = str(value)
        else:
            found[name] = value
    return found


def agreed_decoding(each: Iterable[dict[str, Any]]) -> tuple[dict[str, Any] | None, list[str]]:
    """The keys on which all calls agree, and the names of those on which they do not: these are unrecorded. Null without a call."""
    all_ = list(each)
    if not all_:
        return None, []
    names = sorted({name for one in all_ for name in one})
    first = all_[0]
    differing = [name for name in names if any(one.get(name) != first.get(name) for one in all_[1:])]
    return {name: first.get(name) for name in names if name not in differing}, differing


@dataclass
class Sent:
    """Collects the calls' facts, tools and prompts as digests. Equal configs and tool lists come again and again: the last few are remembered.

    `asked`: by field of the calls' configs the value that all of them share, null where none was sent; or two of several.
    """

    decodings: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: dict[str, list[Any]] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)
    prompts: dict[str, None] = field(default_factory=dict)
    seeds: dict[int | None, None] = field(default_factory=dict)
    served: dict[str, None] = field(default_factory=dict)
    tool_names: dict[str, str] = field(default_factory=dict)
    cached: int = 0
    _configs: list[Any] = field(default_factory=list)
    _lists: list[Any] = field(default_factory=list)
    _texts: list[Any] = field(default_factory=list)

    def add(self, conversation: Conversation) -> None:
        self.cached += conversation.cached
        self.served.update(dict.fromkeys(conversation.served))
        for event in conversation.sent:
            self._config(event.config)
            self._tools(event.tools)
            self._prompt(prompt_of(event.input))

    def _prompt(self, text: str) -> None:
        if not _is_known(self._texts, text):
            self.prompts.setdefault(digest_of_bytes(text.encode("utf-8", "surrogatepass")))

    def _config(self, config: Any) -> None:
        if not _is_known(self._configs, config):
            self.seeds.setdefault(config.seed)
            decoding = decoding_of(config)
            self.decodings.setdefault(json.dumps(decoding, sort_keys=True), decoding)
            for name, value in asked_of(config).items():
                values = self.asked.setdefault(name, [])
                if len(values) < 2 and value not in values:
                    values.append(value)

    def _tools(self, tools: list[Any]) -> None:
        if not _is_known(self._lists, tools):
            dumped = [tool.model_dump(mode="json", exclude_none=True) for tool in tools]
            digests = {tool["name"]: _digest(tool) for tool in dumped}
            self.tool_names.update(digests)
            self.tools.setdefault(_digest(sorted(digests.items())))

    @property
    def tools_digest(self) -> str | None:
        """Digest of the tools that models were offered: names, descriptions, parameters. Of several lists, that of all; null
        without a call.
        """
        return _joint(self.tools)

    @property
    def prompt_digest(self) -> str | None:
        """Digest of the system prompt's UTF-8 bytes, of the empty text where calls had none. Of several prompts, that of all."""
        return _joint(self.prompts)


def _is_known(remembered: list[Any], value: Any, limit: int = 8) -> bool:
    if any(value == one for one in remembered):
        return True
    remembered.insert(0, value)
    del remembered[limit:]
    return False


def _digest(value: Any) -> str:
    return digest_of_bytes(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode())


def _joint(digests: Iterable[str]) -> str | None:
    each = sorted(digests)
    if not each:
        return None
    return each[0] if len(each) == 1 else digest_of(each)

"""What all files of a run must agree on, as one file states it."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from pairmark.domain.canonical import digest_of_bytes
from pairmark.domain.errors import shown
from pairmark.importers.agentdojo.record import Record

SHOWN_CHARACTERS = 120
_USUAL_CHARACTERS = 4096


class Prompt(NamedTuple):
    """A system prompt, by its start and by the digest of its UTF-8 bytes, since two may start alike."""

    start: str
    digest: str


class Facts(NamedTuple):
    """Null is what the file leaves out. `system_prompt` is null where the file has no message that could be one as well: then
    `is_silent`, since it says nothing of the prompt.
    """

    benchmark_version: str | None
    package_version: str | None
    system_prompt: Prompt | None
    is_silent: bool
    settings: str | None
    pipeline: str | None


def facts_of(record: Record) -> Facts:
    """The facts that a record states."""
    messages = record.messages
    prompt = None
    if messages and messages[0].role == "system":
        text = messages[0].text
        prompt = _known_prompt(text) if len(text) <= _USUAL_CHARACTERS else _prompt(text)
    return Facts(record.benchmark_version, record.package_version, prompt, not messages, record.settings, record.pipeline)


def _prompt(text: str) -> Prompt:
    return Prompt(shown(text, SHOWN_CHARACTERS), digest_of_bytes(text.encode("utf-8", "surrogatepass")))


@lru_cache(maxsize=64)
def _known_prompt(text: str) -> Prompt:
    return _prompt(text)

"""A conversation as AgentDojo logs it, in either of its two formats: content as one text, or as a list of blocks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from pairmark.domain.canonical import DIGEST_PREFIX
from pairmark.domain.errors import shown

ABORTED_BY_DEFENSE = "aborting execution because a prompt injection was detected"
"""How the harness' own detector closes a conversation in the assistant's name: no model wrote that."""


class Call(NamedTuple):
    """A tool call: function name and arguments."""

    function: str
    arguments: Mapping[str, Any]


class Message(NamedTuple):
    """One message. `calls`: what the assistant asks for; `answers`: the call a tool message answers; `error`: of that call."""

    role: str
    text: str
    calls: tuple[Call, ...] = ()
    answers: Call | None = None
    error: str | None = None


def is_model_turn(role: str, text: str) -> bool:
    """A model wrote it, having been sent everything before it."""
    return role == "assistant" and not text.startswith(ABORTED_BY_DEFENSE)


def message_of(value: Any) -> Message:
    """A message from its JSON.

    Raises:
        ValueError: it has another shape than AgentDojo writes.
    """
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        raise ValueError(f"expected an object with a role, found {shown(value)}")
    calls = value.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise ValueError(f"expected `tool_calls` to be a list, found {shown(calls)}")
    error = value.get("error")
    if error is not None and not isinstance(error, str):
        raise ValueError(f"expected `error` to be text, found {shown(error)}")
    answered = value.get("tool_call")
    return Message(
        role=value["role"],
        text=_text_of(value.get("content")),
        calls=tuple(_call_of(call) for call in calls or ()),
        answers=None if answered is None else _call_of(answered),
        error=error,
    )


def _text_of(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for text in map(_block_text, content) if text is not None)
    raise ValueError(f"expected content as text or a list of blocks, found {shown(content)}")


def _block_text(block: Any) -> str | None:
    if isinstance(block, dict):
        text = block.get("content")
        if text is None or isinstance(text, str):
            return text
    raise ValueError(f"expected a content block with text, found {shown(block)}")


def _call_of(value: Any) -> Call:
    if (
        not isinstance(value, dict)
        or not isinstance(value.get("function"), str)
        or not isinstance(value.get("args"), dict)
    ):
        raise ValueError(f"expected a call with `function` and `args`, found {shown(value)}")
    return Call(value["function"], value["args"])


_write = msgspec.json.Encoder(order="sorted").encode


def transcript_digest(messages: Sequence[Message], *, plain: bool = False) -> str | None:
    """Digest of what was said and called, in order; null for an empty conversation.

    Covers roles, texts, calls with their arguments and errors; not the providers' random call ids, so that the same
    conversation has the same digest. Sorted keys, UTF-8, no white space: SHA-256 over that JSON, a message and a call being
    the lists of their fields. (RFC 8785 has no integers beyond 2^53 - 1, and an agent may well call a tool with one.)
    `plain`: no number in the arguments is written differently by msgspec, whose bytes are otherwise the same; see `quick`.
    """
    if not messages:
        return None
    if plain:
        return DIGEST_PREFIX + sha256(_write(messages)).hexdigest()
    text = json.dumps(messages, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return DIGEST_PREFIX + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

"""The usual record, read at the speed of a compiled parser; whatever is unusual is left to the strict way.

The parser takes the keys the harness writes, each of its type, and no other. What it lets through is checked here: a key given
twice, since then the text has more keys (a `"` and a colon, of which the quote is not escaped) than came out; and numbers that
the two ways would write differently. A string that starts with a colon looks like one key too many, and costs no more than the
time of the strict way.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from pairmark.importers.agentdojo.messages import Call, Message

MAX_DEPTH = 32
_QUOTE, _COLON, _BACKSLASH, _SPACE = 34, 58, 92, 32
_SPACES = b" \t\r\n"


class _Strict(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Gives no work to the collector: a record cannot refer to itself."""


class _Block(_Strict):
    type: Literal["text"]
    content: str


class _Call(_Strict):
    function: str
    args: dict[str, Any]
    id: str | None
    placeholder_args: dict[str, Any] | msgspec.UnsetType | None = msgspec.UNSET


class _System(_Strict, tag_field="role", tag="system"):
    content: list[_Block]


class _User(_Strict, tag_field="role", tag="user"):
    content: list[_Block]


class _Assistant(_Strict, tag_field="role", tag="assistant"):
    content: list[_Block] | None
    tool_calls: list[_Call] | None


class _Tool(_Strict, tag_field="role", tag="tool"):
    content: list[_Block]
    tool_call_id: str | None
    tool_call: _Call
    error: str | None


class Usual(_Strict):
    """A record with the keys of `agentdojo` 0.1.35; without the verdicts where the run was killed."""

    suite_name: str
    pipeline_name: str
    user_task_id: str
    injection_task_id: str | None
    attack_type: str | None
    injections: dict[str, str]
    messages: list[_System | _User | _Assistant | _Tool]
    error: str | None
    benchmark_version: str | None
    evaluation_timestamp: str
    agentdojo_package_version: str
    duration: float | msgspec.UnsetType = msgspec.UNSET
    utility: bool | msgspec.UnsetType = msgspec.UNSET
    security: bool | msgspec.UnsetType = msgspec.UNSET


_ROLES: dict[type, str] = {_System: "system", _User: "user", _Assistant: "assistant", _Tool: "tool"}
_ALWAYS = 11
_decode = msgspec.json.Decoder(Usual).decode
_new = tuple.__new__


def quick(data: bytes) -> tuple[Usual, tuple[Message, ...]] | None:
    """The record and its messages, exactly as the strict way reads them; null where only that can say."""
    try:
        record = _decode(data)
        keys = _ALWAYS + len(record.injections)
        for value in (record.duration, record.utility, record.security):
            keys += value is not msgspec.UNSET
        said = []
        for item in record.messages:
            content = item.content
            if content is None:
                text = ""
                keys += 2
            elif len(content) == 1:
                text = content[0].content
                keys += 4
            else:
                text = "\n".join([block.content for block in content])
                keys += 2 + 2 * len(content)
            calls: tuple[Call, ...] = ()
            answers = error = None
            if isinstance(item, _Tool):
                more, answers = _call(item.tool_call)
                keys += 3 + more
                error = item.error
            elif isinstance(item, _Assistant):
                keys += 1
                for asked in item.tool_calls or ():
                    more, call = _call(asked)
                    keys += more
                    calls += (call,)
            said.append(_new(Message, (_ROLES[type(item)], text, calls, answers, error)))
    except (_Unusual, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return (record, tuple(said)) if keys == _keys_in(data) else None


class _Unusual(Exception):
    """Not for the quick way."""


def _call(value: _Call) -> tuple[int, Call]:
    """Its keys, counted through and through, and the call."""
    arguments = value.args
    keys, unused = 3 + len(arguments), value.placeholder_args
    if unused is not msgspec.UNSET:
        keys += 1 if unused is None else 1 + _keys(unused, 1)
    for item in arguments.values():
        if item is not None and type(item) is not str:
            keys += _keys(item, 1)
    return keys, _new(Call, (value.function, arguments))


def _keys(value: Any, depth: int) -> int:
    """Keys in a value, counted through and through."""
    if isinstance(value, dict | list):
        if depth > MAX_DEPTH:
            raise _Unusual
        keys = len(value) if isinstance(value, dict) else 0
        return keys + sum([_keys(item, depth + 1) for item in (value.values() if isinstance(value, dict) else value)])
    if isinstance(value, float) and not (value == 0 or 1e-4 <= abs(value) < 1e16):
        raise _Unusual
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise _Unusual
    return 0


def _keys_in(data: bytes) -> int:
    """How many keys the text has, or more; -1 where a look at the bytes cannot tell."""
    text = np.frombuffer(data, dtype=np.uint8)
    at = (text == _COLON).nonzero()[0]
    if not len(at) or at[0] < 3:
        return -1
    before, ahead = text[at - 1].tobytes(), text[at - 2].tobytes()
    if len(before.translate(None, _SPACES)) < len(before) and not _are_in_texts(data, at):
        return -1
    quoted: int = before.count(_QUOTE)
    if _BACKSLASH not in ahead:
        return quoted
    escaped = at[(text[at - 1] == _QUOTE) & (text[at - 2] == _BACKSLASH)]
    return -1 if bool((text[escaped - 3] == _BACKSLASH).any()) else quoted - len(escaped)


def _are_in_texts(data: bytes, colons: npt.NDArray[np.intp]) -> bool:
    """Whether none of the colons that follow white space has a quote before that, as a key would."""
    for at in colons.tolist():
        if data[at - 1] <= _SPACE:
            ahead = data[max(0, at - 256) : at].rstrip(_SPACES)
            if not ahead or ahead[-1] == _QUOTE:
                return False
    return True

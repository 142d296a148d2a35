"""The items of a result file, one at a time: what each states, or why it is none.

Facts about tau-bench at commit 59a200c: an exception in an episode is written as reward 0 with `info.error` and no conversation;
`info.reward_info` stays null when the loop ended before the conversation was done, which is the agent's limit of steps; a trial
is a repetition, from 0; success is a reward of 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pairmark.domain.errors import Malformed, one_line, shown
from pairmark.importers.single_file import bytes_of, head_of
from pairmark.importers.strict_value import NotStrict, strict_value

MAX_FILE_BYTES = 64 * 2**20
"""Largest result file that is read, after decompression; real ones have some megabytes."""

MAX_ITEM_BYTES = 16 * 2**20
MAX_ITEMS = 200_000
NEAR_ONE = 1e-6
_HEAD = 8192
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_BETWEEN = re.compile(rb"[ \t\r\n,]*+")
_OURS = re.compile(rb'\s*\[\s*\{\s*"task_id"\s*:\s*(?:[0-9]{1,9}|"[^"\\]{1,200}")\s*,\s*"reward"\s*:\s*-?[0-9.eE+-]+\s*,\s*"info"\s*:\s*\{')


@dataclass(frozen=True)
class Item:
    """One item. Null is what it leaves out; `problem`: why the rest was not read.

    Attributes:
        number: its place in the list, from 1.
        task, trial: its cell; null where it names none.
        success: whether the reward is 1.
        error: text of the exception that ended it.
        graded: whether a reward was worked out at the end of the conversation.
        instruction: what the simulated user was told to want.
        expected: actions and outputs that the check compares with.
        messages: the conversation.
    """

    number: int
    task: str | None = None
    trial: int | None = None
    success: bool | None = None
    error: str | None = None
    graded: bool = False
    instruction: str | None = None
    expected: Mapping[str, Any] | None = None
    messages: tuple[Mapping[str, Any], ...] = ()
    problem: str | None = None

    @property
    def system_prompt(self) -> str | None:
        """Text of the first message if that is the system's: the policy of the domain."""
        if self.messages and self.messages[0]["role"] == "system":
            text = self.messages[0].get("content")
            return text if isinstance(text, str) else None
        return None


def is_results(path: Path) -> bool:
    """Whether the file starts as the harness writes its results. Never raises."""
    return _OURS.match(head_of(path, _HEAD)) is not None


def items_of(path: Path) -> Iterator[Item]:
    """The items, in file order.

    Raises:
        Malformed: no JSON list, or too large a one.
    """
    data = bytes_of(path, MAX_FILE_BYTES)
    try:
        parts = _parts_of(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Malformed(
            "not-json", f"expected one JSON list, found: {str(problem) or 'too deep nesting'}", str(path),
            remedy="give the file as the harness wrote it, whole",
        ) from None  # fmt: skip
    if len(parts) > MAX_ITEMS:
        raise Malformed("too-large", f"expected at most {MAX_ITEMS} items, found {len(parts)}", str(path), remedy="is this one run?")
    for number, part in enumerate(parts, 1):
        yield _item(number, part)


def _parts_of(data: bytes) -> list[bytes]:
    """The bytes of every item. The parser refuses a whole list for half a surrogate pair: it is shown other characters there,
    of the same length, and the items are cut out of what was written.
    """
    try:
        return [bytes(part) for part in msgspec.json.decode(data, type=list[msgspec.Raw])]
    except (msgspec.DecodeError, UnicodeDecodeError):
        other = _SURROGATE.sub(rb"\\u0041", data)
        if other == data:
            raise
    found, place = [], data.index(b"[") + 1
    for part in msgspec.json.decode(other, type=list[msgspec.Raw]):
        size = len(bytes(part))
        place += _gap(data, place)
        found.append(data[place : place + size])
        place += size
    return found


def _gap(data: bytes, place: int) -> int:
    """How much white space, and the comma, stand before the next item."""
    found = _BETWEEN.match(data, place)
    return 0 if found is None else found.end() - place


def _item(number: int, data: bytes) -> Item:
    if len(data) > MAX_ITEM_BYTES:
        return Item(number, problem=f"expected at most {MAX_ITEM_BYTES} bytes, found {len(data)}")
    try:
        value = strict_value(data)
    except NotStrict as problem:
        return Item(number, problem=one_line(str(problem)))
    if not isinstance(value, dict):
        return Item(number, problem=f"expected an object, found {shown(value)}")
    task, trial = _task(value.get("task_id")), value.get("trial")
    if isinstance(trial, bool) or not isinstance(trial, int) or not 0 <= trial < 100_000:
        return Item(number, task, problem=f"expected `trial` from 0, found {shown(trial)}")
    if task is None:
        return Item(number, None, trial, problem=f"expected `task_id` as a number or text, found {shown(value.get('task_id'))}")
    try:
        return _read(number, task, trial, value)
    except ValueError as problem:
        return Item(number, task, trial, problem=one_line(str(problem)))


def _read(number: int, task: str, trial: int, value: Mapping[str, Any]) -> Item:
    """Raises ValueError where a key has another shape than the harness writes."""
    info = value.get("info")
    if not isinstance(info, dict):
        raise ValueError(f"expected `info` as an object, found {shown(info)}")
    error = info.get("error")
    if error is not None and not isinstance(error, str):
        raise ValueError(f"expected `info.error` as text, found {shown(error)}")
    reward = value.get("reward")
    if isinstance(reward, bool) or not isinstance(reward, int | float) or not 0 <= reward <= 1:
        raise ValueError(f"expected `reward` from 0 to 1, found {shown(reward)}")
    about = info.get("task")
    if about is not None and not (isinstance(about, dict) and isinstance(about.get("instruction"), str)):
        raise ValueError("expected `info.task` with an instruction, found another")
    return Item(
        number,
        task,
        trial,
        success=reward >= 1 - NEAR_ONE,
        error=error,
        graded=info.get("reward_info") is not None,
        instruction=None if about is None else about["instruction"],
        expected=None if about is None else {"actions": about.get("actions"), "outputs": about.get("outputs")},
        messages=_messages(value.get("traj")),
    )


def _messages(value: Any) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(value, list):
        raise ValueError(f"expected `traj` as a list, found {shown(value)}")
    for index, message in enumerate(value):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise ValueError(f"message {index}: expected an object with a role, found {shown(message)}")
        calls = message.get("tool_calls")
        if calls is not None and not (isinstance(calls, list) and all(_is_call(call) for call in calls)):
            raise ValueError(f"message {index}: expected `tool_calls` with a function each, found {shown(calls)}")
    return tuple(value)


def _is_call(call: Any) -> bool:
    function = call.get("function") if isinstance(call, dict) else None
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _task(value: Any) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9:
        return str(value)
    if isinstance(value, str) and 0 < len(value) <= 200 and all(" " <= c != "\x7f" for c in value) and value.isprintable():
        return value
    return None

"""One AgentDojo log file, read strictly: what it states, in its own words and types."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairmark.domain.errors import shown
from pairmark.importers.agentdojo.messages import Message, message_of
from pairmark.importers.agentdojo.quick import Usual, quick
from pairmark.importers.strict_value import NotStrict, strict_value

MAX_FILE_BYTES = 16 * 2**20
"""Largest log file that is read; real ones have some hundred kilobytes."""

SETTINGS = ("build_constraints", "injection_isolation", "dynamic_validation", "adaptive_attack")
"""Switches that DRIFT's fork writes into every file; files that differ in one were made by two defenses."""

MAX_PAYLOADS = 256
MAX_PAYLOAD_CHARACTERS = 2**20


class UnreadableRecord(Exception):
    """The file is no AgentDojo record; the text says what was expected and what was found."""


@dataclass
class Record:
    """What a log file states. Null is what it leaves out. Not frozen, which would take longer than all else that is done with it.

    Attributes:
        suite, task: harness suite and user task (or injection task run as one).
        injection, attack: null in a run without injections.
        injections: payload by place in the environment; null where the file has no such key.
        messages: the conversation as it was last written.
        error: text of a provider error the harness caught, null where none (an empty text is none).
        utility: verdict of the task's checker; null: none was written.
        security: verdict of the injection's checker; means nothing without an injection, or beside an error.
        duration: seconds.
        plain: whether it was read the quick way, which says how its numbers are written.
        settings: switches of the defense that a fork writes beside the episode, as `name=value`, in their order.
        pipeline: name of the pipeline, as its author called it: no sign of a defense.
    """

    suite: str
    task: str
    injection: str | None
    attack: str | None
    injections: Mapping[str, str] | None
    messages: tuple[Message, ...]
    error: str | None
    utility: bool | None
    security: bool | None
    duration: float | None
    benchmark_version: str | None
    package_version: str | None
    plain: bool = False
    settings: str | None = None
    pipeline: str | None = None

    @property
    def system_prompt(self) -> str | None:
        """Text of the first message if that is the system's."""
        return self.messages[0].text if self.messages and self.messages[0].role == "system" else None

    @property
    def user_prompt(self) -> str | None:
        """Text of the first user message: the task as the agent was given it."""
        return next((message.text for message in self.messages if message.role == "user"), None)


def read_record(path: Path | str) -> Record:
    """The record in the regular file at `path`.

    Raises:
        UnreadableRecord: too large, not strict JSON, or a key of another type than AgentDojo writes.
    """
    data = _bytes_of(path)
    read = quick(data)
    if read is not None:
        return _usual(*read)
    try:
        value = strict_value(data)
    except NotStrict as problem:
        raise UnreadableRecord(str(problem)) from None
    if not isinstance(value, dict):
        raise UnreadableRecord(f"expected a JSON object, found {type(value).__name__}")
    messages = _field(value, "messages", (list,))
    if messages is None:
        raise UnreadableRecord("expected `messages`, found none")
    return _record(value, tuple(_message(item, index) for index, item in enumerate(messages)), plain=False)


def _usual(value: Usual, messages: tuple[Message, ...]) -> Record:
    _check_payloads(value.injections)
    error, duration = value.error, value.duration
    return Record(
        value.suite_name,
        value.user_task_id,
        value.injection_task_id,
        value.attack_type,
        value.injections,
        messages,
        error if error is not None and error.strip() else None,
        value.utility if isinstance(value.utility, bool) else None,
        value.security if isinstance(value.security, bool) else None,
        duration if isinstance(duration, float) else None,
        value.benchmark_version,
        value.agentdojo_package_version,
        plain=True,
        pipeline=value.pipeline_name,
    )


def _record(value: Mapping[str, Any], messages: tuple[Message, ...], *, plain: bool) -> Record:
    injections = _field(value, "injections", (dict,))
    if injections is not None:
        _check_payloads(injections)
    error = _field(value, "error", (str,))
    duration = _field(value, "duration", (int, float))
    return Record(
        suite=_text(value, "suite_name"),
        task=_text(value, "user_task_id"),
        injection=_field(value, "injection_task_id", (str,)),
        attack=_field(value, "attack_type", (str,)),
        injections=injections,
        messages=messages,
        error=error if error is not None and error.strip() else None,
        utility=_field(value, "utility", (bool,)),
        security=_field(value, "security", (bool,)),
        duration=duration,
        benchmark_version=_field(value, "benchmark_version", (str,)),
        package_version=_field(value, "agentdojo_package_version", (str,)),
        plain=plain,
        settings=", ".join(f"{name}={value[name]}" for name in SETTINGS if isinstance(value.get(name), bool)) or None,
        pipeline=_field(value, "pipeline_name", (str,)),
    )


def _check_payloads(injections: Mapping[str, Any]) -> None:
    for payload in injections.values():
        if not isinstance(payload, str) or len(payload) > MAX_PAYLOAD_CHARACTERS:
            raise UnreadableRecord(f"expected `injections` to hold texts of at most {MAX_PAYLOAD_CHARACTERS} characters")
    if len(injections) > MAX_PAYLOADS:
        raise UnreadableRecord(f"expected at most {MAX_PAYLOADS} `injections`, found {len(injections)}")


def _message(item: Any, index: int) -> Message:
    try:
        return message_of(item)
    except ValueError as problem:
        raise UnreadableRecord(f"message {index}: {problem}") from None


def _text(value: Mapping[str, Any], key: str) -> str:
    found: str | None = _field(value, key, (str,))
    if found is None:
        raise UnreadableRecord(f"expected `{key}`, found none")
    return found


def _field(value: Mapping[str, Any], key: str, kinds: tuple[type, ...]) -> Any:
    """The value of one of `kinds` under `key`; null or absent is None. A boolean is no number."""
    found = value.get(key)
    if found is None:
        return None
    if not isinstance(found, kinds) or (isinstance(found, bool) and bool not in kinds):
        raise UnreadableRecord(f"expected `{key}` to be {' or '.join(k.__name__ for k in kinds)}, found {shown(found)}")
    return found


_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def _bytes_of(path: Path | str) -> bytes:
    try:
        descriptor = os.open(path, _OPEN)
    except OSError as problem:
        raise UnreadableRecord(f"cannot be opened: {problem.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableRecord("expected a regular file")
        if status.st_size > MAX_FILE_BYTES:
            raise UnreadableRecord(f"expected at most {MAX_FILE_BYTES} bytes, found {status.st_size}")
        data = os.read(descriptor, status.st_size + 1)
        if len(data) == status.st_size:
            return data
        with os.fdopen(os.dup(descriptor), "rb") as file:  # it grows while it is read, or comes in pieces
            return (data + file.read(MAX_FILE_BYTES))[:MAX_FILE_BYTES]
    except OSError as problem:
        raise UnreadableRecord(f"cannot be read: {problem.strerror}") from None
    finally:
        os.close(descriptor)

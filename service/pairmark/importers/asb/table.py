"""One result table, read strictly: the flags of each row, or why it has none."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pairmark.domain.errors import Malformed, one_line, shown
from pairmark.importers.single_file import bytes_of, head_of

MAX_FILE_BYTES = 64 * 2**20
"""Largest table that is read; real ones have some megabytes, nearly all of it conversations."""

MAX_FIELD_CHARACTERS = 16 * 2**20
MAX_COLUMNS = 64
MAX_ROWS = 100_000
MAX_NAME_CHARACTERS = 400

AGENT, TOOL = "Agent Name", "Attack Tool"
ATTACK, TASK = "Attack Successful", "Original Task Successful"
REFUSED, AGGRESSIVE = "Refuse Result", "Aggressive"
REQUIRED = (AGENT, TOOL, ATTACK, TASK)
_FLAGS = {"0": False, "1": True}
_HEAD = 4096


@dataclass(frozen=True)
class Row:
    """One row. `problem`: why it is no episode; its flags are then null. `aggressive`, `refused`: null where there is no such column."""

    line: int
    agent: str | None
    tool: str | None
    attack: bool | None
    task: bool | None
    refused: bool | None = None
    aggressive: bool | None = None
    problem: str | None = None


def is_table(path: Path) -> bool:
    """Whether the file starts with the header of such a table. Never raises."""
    head = head_of(path, _HEAD)
    line, newline, _ = head.partition(b"\n")
    if not newline:
        return False
    try:
        columns = next(csv.reader([line.decode("utf-8-sig")], strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        return False
    return set(REQUIRED) <= set(columns)


def read_table(path: Path) -> Iterator[Row]:
    """The rows, in file order.

    Raises:
        Malformed: not such a table, or one that cannot be told into rows.
    """
    text = _text(path)
    csv.field_size_limit(max(csv.field_size_limit(), MAX_FIELD_CHARACTERS))
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = next(lines, [])
        _check_columns(path, columns)
        at = {name: columns.index(name) for name in columns}
        start, rows = lines.line_num + 1, 0
        for fields in lines:
            if fields:
                rows += 1
                if rows > MAX_ROWS:
                    raise Malformed(
                        "too-large", f"expected at most {MAX_ROWS} rows, found more", str(path), start, remedy="is this the table of one run?"
                    )
                yield _row(start, fields, at)
            start = lines.line_num + 1
    except csv.Error as problem:
        raise Malformed(
            "not-csv", f"expected CSV, found: {problem}", str(path), lines.line_num, remedy="give the table as the benchmark wrote it"
        ) from None


def _text(path: Path) -> str:
    data = bytes_of(path, MAX_FILE_BYTES)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise Malformed(
            "not-utf8", f"expected UTF-8, found another byte at offset {problem.start}", str(path), line, remedy="save it as UTF-8"
        ) from None


def _check_columns(path: Path, columns: list[str]) -> None:
    missing = [name for name in REQUIRED if name not in columns]
    if missing or len(set(columns)) != len(columns) or len(columns) > MAX_COLUMNS:
        found = ", ".join(shown(name, 40) for name in columns[:12]) or "none"
        raise Malformed(
            "columns", f"expected each of the columns {', '.join(REQUIRED)} once, found {found}", str(path), 1,
            remedy="give a result table of Agent Security Bench",
        )  # fmt: skip


def _row(line: int, fields: list[str], at: dict[str, int]) -> Row:
    def field(name: str) -> str | None:
        place = at.get(name)
        return fields[place] if place is not None and place < len(fields) else None

    agent, tool = _name(field(AGENT)), _name(field(TOOL))
    problem = None
    if len(fields) != len(at):
        problem = f"expected {len(at)} fields, found {len(fields)}"
    elif agent is None or tool is None:
        problem = f"expected names of an agent and an attack tool, found {shown(field(AGENT))} and {shown(field(TOOL))}"
    else:
        wrong = [name for name in (ATTACK, TASK) if field(name) not in _FLAGS]
        if wrong:
            problem = f"expected `{wrong[0]}` to be 0 or 1, found {shown(field(wrong[0]))}"
    if problem is not None:
        return Row(line, agent, tool, None, None, problem=one_line(problem))
    attack, task, refused, aggressive = (_FLAGS.get(field(name) or "") for name in (ATTACK, TASK, REFUSED, AGGRESSIVE))
    return Row(line, agent, tool, attack, task, refused, aggressive)


def _name(text: str | None) -> str | None:
    """A name that an id can hold, else null."""
    if text is None or not 0 < len(text) <= MAX_NAME_CHARACTERS or any(c < " " or c == "\x7f" for c in text):
        return None
    return text

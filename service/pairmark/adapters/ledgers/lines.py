"""The plain strict reader of single episodes: exact about file, line and pointer. The vectorised readers fall back to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
from pydantic import ValidationError

from pairmark.adapters.ledgers.limits import Limits, too_large
from pairmark.domain import strict_json
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import malformed_from
from pairmark.domain.documents.episode import Episode
from pairmark.domain.episodes import EPISODE_SCHEMA
from pairmark.domain.errors import Malformed


def read_line(data: bytes, *, file: str | None, line: int, limits: Limits) -> dict[str, Any]:
    """The episode in one line (without its newline), with all fourteen keys; an absent or null `attempt` is 1.

    Raises:
        Malformed: with file, line and, where it can be told, pointer.
    """
    if len(data) > limits.line:
        raise too_large("line", limits.line, file=file, line=line)
    if not data.strip(b" \t\r"):
        raise Malformed("blank-line", "expected one JSON object, found a blank line", file, line, remedy="remove the line")
    try:
        value = strict_json.parse(data)
        if not isinstance(value, dict):
            raise Malformed("not-an-object", "expected one JSON object", pointer="", remedy="write one episode per line")
    except Malformed as problem:
        raise Malformed(problem.code, problem.message, file, line, problem.pointer, problem.remedy) from None
    return read_row(value, file=file, line=line)


def read_row(value: Mapping[str, Any], *, file: str | None, line: int) -> dict[str, Any]:
    """The episode in one row of values, with all fourteen keys.

    Raises:
        Malformed: with file, line and pointer.
    """
    try:
        episode = Episode.model_validate(dict(value))
    except ValidationError as problem:
        found = malformed_from(problem, json.dumps(value).encode(), None)
        raise Malformed(found.code, found.message, file, line, found.pointer, found.remedy) from None
    row = episode.model_dump()
    if row["attempt"] is None:
        row["attempt"] = 1
    return row


def frame_in_file_order(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """A frame of rows that hold all fourteen keys, in the order given."""
    return pl.DataFrame([dict(row) for row in rows], schema=EPISODE_SCHEMA, strict=True)


def check_rows(frame: pl.DataFrame, *, file: str | None, first_line: int, limits: Limits) -> None:
    """Judge the rows of a frame one by one; the first that is no episode, or is longer than a line may be, raises Malformed."""
    for line, row in enumerate(frame.iter_rows(named=True), first_line):
        read_row(row, file=file, line=line)
        if len(canonical_bytes(row)) > limits.line:
            raise too_large("line", limits.line, file=file, line=line)

"""Whole blocks of ledger lines to columns at once, or `None` where anything is in doubt: then the plain reader decides.

msgspec is strict about types, unknown and missing keys, UTF-8, numbers and syntax. It lets pass, and is checked here:
repeated keys, several objects or none in a line, integers beyond 2^53 - 1; and what the columns may hold (`checks`).
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Any, Literal

import msgspec
import numpy as np
import polars as pl
from msgspec import UNSET, UnsetType

from pairmark.adapters.ledgers.checks import ID_COLUMNS, ColumnChecks, acceptable_values
from pairmark.domain.episodes import EPISODE_SCHEMA


class _Line(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One line as it may be written. UNSET tells an absent key from null, so that keys can be counted."""

    task_id: str
    injection_id: str | None
    epoch: int
    status: Literal["completed", "agent_limit", "provider_block", "infra_error", "cancelled"]
    utility: bool | UnsetType | None = UNSET
    attack_success: bool | UnsetType | None = UNSET
    delivered: bool | UnsetType | None = UNSET
    attacker_actions: int | UnsetType | None = UNSET
    served_model: str | UnsetType | None = UNSET
    duration_ms: int | UnsetType | None = UNSET
    error: str | UnsetType | None = UNSET
    task_digest: str | UnsetType | None = UNSET
    transcript_digest: str | UnsetType | None = UNSET
    attempt: int | UnsetType | None = UNSET


_decode_lines = msgspec.json.Decoder(_Line).decode_lines
_values = msgspec.structs.astuple
_absent = {UNSET}
_TEXT = tuple(name for name, kind in EPISODE_SCHEMA.items() if kind == pl.String() or isinstance(kind, pl.Enum))
_escape = re.compile(rb"\\.", re.DOTALL)
_PART = 256 * 1024
"""Bytes compared at once: what fits the processor's cache is compared twice as fast."""

_QUOTE, _NEWLINE, _BRACE = b'"'[0], b"\n"[0], b"{"[0]


def line_ends(block: bytes) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Offsets of the newlines; a last line without one ends at the end of the block."""
    letters = np.frombuffer(block, dtype=np.uint8)
    parts = [np.flatnonzero(letters[at : at + _PART] == _NEWLINE) + at for at in range(0, len(letters), _PART)]
    ends = np.concatenate(parts)
    return ends if block.endswith(b"\n") else np.append(ends, len(block))


def decode_block(
    block: bytes, ends: np.ndarray[Any, np.dtype[np.int64]], longest: int, checks: ColumnChecks
) -> pl.DataFrame | None:
    """The episodes of a block of whole lines in file order; None unless every line surely is one.

    Args:
        block: the bytes.
        ends: `line_ends(block)`.
        longest: bytes a line may have.
        checks: of the ledger that the block belongs to.
    """
    letters = np.frombuffer(block, dtype=np.uint8)
    starts = np.concatenate(([0], ends[:-1] + 1))
    # A string cannot span lines and no value may be an object: if every line starts with a brace and there are
    # as many objects as lines, each line is exactly one object.
    if int((ends - starts).max()) > longest or not bool((letters[np.minimum(starts, len(block) - 1)] == _BRACE).all()):
        return None
    try:
        rows = _decode_lines(block)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if len(rows) != len(ends):
        return None
    frame, keys = _columns(rows, checks)
    if frame is None or _quotes(block, letters) != 2 * (keys + _texts(frame)):
        return None
    if frame["attempt"].null_count():
        frame = frame.with_columns(pl.col("attempt").fill_null(1))
    return frame if acceptable_values(frame) else None


def _columns(rows: list[_Line], checks: ColumnChecks) -> tuple[pl.DataFrame | None, int]:
    """The columns, and how many keys were decoded; None where a value does not fit or an id is none."""
    width = len(EPISODE_SCHEMA)
    keys = len(rows) * width
    every: list[Any] = list(chain.from_iterable(map(_values, rows)))
    columns = []
    for place, (name, kind) in enumerate(EPISODE_SCHEMA.items()):
        values = every[place::width]
        if name in ID_COLUMNS and not checks.acceptable_ids(set(values) - _absent):
            return None, 0
        try:
            column = pl.Series(name, values, dtype=kind, strict=True)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):  # an absent key or a huge integer
            present = [None if value is UNSET else value for value in values]
            keys -= values.count(UNSET)
            try:
                column = pl.Series(name, present, dtype=kind, strict=True)
            except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
                return None, 0
        columns.append(column)
    return pl.DataFrame(columns), keys


def _texts(frame: pl.DataFrame) -> int:
    return sum(frame.height - frame[name].null_count() for name in _TEXT)


def _quotes(block: bytes, letters: np.ndarray[Any, np.dtype[np.uint8]]) -> int:
    """Quotes that delimit strings. A repeated key has at least two more than its object was decoded to."""
    if b"\\" in block:
        return _escape.sub(b"", block).count(b'"')
    return sum(int(np.count_nonzero(letters[at : at + _PART] == _QUOTE)) for at in range(0, len(letters), _PART))

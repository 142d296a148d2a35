"""Canonical order: where a frame leaves it, and how keys compare."""

from __future__ import annotations

import polars as pl

from pairmark.domain.episodes import CANONICAL_ORDER
from pairmark.domain.errors import Malformed

Key = tuple[str, bool, str, int, int]


def key_of(frame: pl.DataFrame, row: int) -> Key:
    """The key of one row; Python compares these as canonical order does (text by code point, null first)."""
    task, injection, epoch, attempt = frame.select(CANONICAL_ORDER).row(row)
    return task, injection is not None, injection or "", epoch, attempt


def rows_up_to(frame: pl.DataFrame, bound: Key, *, inclusive: bool) -> int:
    """How many leading rows of an ordered frame have a key below `bound` (or equal to it)."""
    low, high = 0, frame.height
    keys = frame.select(CANONICAL_ORDER)
    while low < high:
        middle = (low + high) // 2
        key = key_of(keys, middle)
        if key < bound or (inclusive and key == bound):
            low = middle + 1
        else:
            high = middle
    return low


class OrderWatch:
    """Sees frames one after the other and finds the first row that stands before its predecessor."""

    def __init__(self) -> None:
        self._last: pl.DataFrame | None = None

    def first_out_of_order(self, frame: pl.DataFrame) -> int | None:
        """Index in `frame` of the first row out of order, counting from the frames seen before; None if all are in order."""
        keys = frame.select(CANONICAL_ORDER)
        if not keys.height:
            return None
        joined = keys if self._last is None else pl.concat([self._last, keys], rechunk=True)
        found = _first_descent(joined)
        if found is not None:
            return found - (joined.height - keys.height)
        self._last = keys[-1:]
        return None


def _first_descent(keys: pl.DataFrame) -> int | None:
    if keys.height < 2:
        return None
    before, after = keys[:-1], keys[1:]
    in_order = (before["attempt"] <= after["attempt"])
    for name in ("epoch", "injection_id", "task_id"):
        one, other = before[name], after[name]
        less = (one < other).fill_null(False) | (one.is_null() & other.is_not_null())
        in_order = less | (one.eq_missing(other) & in_order)
    if in_order.all():
        return None
    return int(in_order.arg_min() or 0) + 1


def out_of_order(file: str | None, line: int) -> Malformed:
    """The refusal of a ledger that must come in canonical order and does not."""
    return Malformed(
        "out-of-order",
        "expected the ledger in canonical order (task_id, injection_id with null first, epoch, attempt), "
        "found a line that belongs before the one above it",
        file, line, remedy="sort the ledger: ids by code point, numbers by value",
    )

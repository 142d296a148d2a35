"""Canonical order: where a frame leaves it, and how keys compare."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pairmark.domain.episodes import CANONICAL_ORDER
from pairmark.domain.errors import Malformed

Key = tuple[str, bool, str, int, int]


def key_of(frame: pl.DataFrame, row: int) -> Key:
    """The key of one row; Python compares these as canonical order does (text by code point, null first)."""
    task, injection, epoch, attempt = (frame[name][row] for name in CANONICAL_ORDER)
    return task, injection is not None, injection or "", epoch, attempt


def rows_up_to(frame: pl.DataFrame, bound: Key, *, inclusive: bool) -> int:
    """How many leading rows of an ordered frame have a key below `bound` (or equal to it)."""
    low, high = 0, frame.height
    while low < high:
        middle = (low + high) // 2
        key = key_of(frame, middle)
        if key < bound or (inclusive and key == bound):
            low = middle + 1
        else:
            high = middle
    return low


def sorted_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows in canonical order, ties as they stood. Five times the speed of sorting by the texts themselves: ids repeat."""
    keys = [frame["attempt"].to_numpy(), frame["epoch"].to_numpy(), _codes(frame["injection_id"]), _codes(frame["task_id"])]
    return frame[np.lexsort(keys)]


def _codes(column: pl.Series) -> NDArray[np.uint32]:
    """Place of each id among the ids in order, from 1; 0 where null."""
    ids = column.unique().drop_nulls().sort()
    codes = column.cast(pl.Enum(ids)).to_physical().cast(pl.UInt32) + 1
    return codes.fill_null(0).to_numpy()


class OrderWatch:
    """Sees frames one after the other and finds the first row that stands before its predecessor."""

    def __init__(self) -> None:
        self._last: Key | None = None

    def first_out_of_order(self, frame: pl.DataFrame) -> int | None:
        """Index in `frame` of the first row out of order, counting from the frames seen before; None if all are in order."""
        if not frame.height:
            return None
        if self._last is not None and key_of(frame, 0) < self._last:
            return 0
        self._last = key_of(frame, -1)
        return _first_descent(frame)


def _first_descent(frame: pl.DataFrame) -> int | None:
    """Texts are compared by size only where they change: in an ordered ledger, seldom."""
    falls = np.zeros(frame.height - 1, dtype=np.bool_)
    for name in ("attempt", "epoch"):
        steps = np.diff(frame[name].to_numpy())
        falls = (steps < 0) | ((steps == 0) & falls)
    for name in ("injection_id", "task_id"):
        column = frame[name]
        changed = column[1:].ne_missing(column[:-1]).to_numpy()
        falls &= ~changed
        at = np.flatnonzero(changed)
        before, after = column[at], column[at + 1]
        falls[at] = ((before > after).fill_null(False) | (before.is_not_null() & after.is_null())).to_numpy()
    return int(falls.argmax()) + 1 if falls.any() else None


def out_of_order(file: str | None, line: int) -> Malformed:
    """The refusal of a ledger that must come in canonical order and does not."""
    return Malformed(
        "out-of-order",
        "expected the ledger in canonical order (task_id, injection_id with null first, epoch, attempt), "
        "found a line that belongs before the one above it",
        file, line, remedy="sort the ledger: ids by code point, numbers by value",
    )

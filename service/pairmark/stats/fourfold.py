"""Two outcomes of the same episodes: both, only the first, only the second, neither."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pairmark.stats.arrays import BoolArray, IntArray, same_length

BOTH, FIRST_ONLY, SECOND_ONLY, NEITHER = 0, 1, 2, 3
"""Codes of `flip_codes`. With benign first and attacked second: kept, lost, gained, neither."""


@dataclass(frozen=True, slots=True)
class Fourfold:
    """Counts of pairs. With benign first and attacked second: kept, lost, gained, neither."""

    both: int
    first_only: int
    second_only: int
    neither: int

    def __post_init__(self) -> None:
        """Raise ValueError where a count is below 0."""
        if min(self.both, self.first_only, self.second_only, self.neither) < 0:
            raise ValueError(f"expected counts of at least 0, found {self}")

    @property
    def total(self) -> int:
        """Number of pairs."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def first_total(self) -> int:
        """Successes of the first arm."""
        return self.both + self.first_only

    @property
    def second_total(self) -> int:
        """Successes of the second arm."""
        return self.both + self.second_only

    @property
    def difference(self) -> Fraction | None:
        """First rate minus second rate over these pairs, unweighted; None where there are none."""
        return Fraction(self.first_only - self.second_only, self.total) if self.total else None

    @property
    def flip_rate(self) -> Fraction | None:
        """Share of pairs whose outcomes differ; None where there are none."""
        return Fraction(self.first_only + self.second_only, self.total) if self.total else None


def flip_codes(first: BoolArray, second: BoolArray) -> IntArray:
    """BOTH, FIRST_ONLY, SECOND_ONLY or NEITHER for each pair of known outcomes; shape as given.

    Raises ValueError where the columns are not boolean (unknown outcomes must have been left out) or differ in length.
    """
    for name, column in (("first", first), ("second", second)):
        if column.dtype != np.bool_:
            raise ValueError(f"{name}: expected booleans, found {column.dtype}; leave out unknown outcomes")
    same_length(first.size, second.size, "second")
    return np.int64(2) * ~first + ~second


def fourfold(first: BoolArray, second: BoolArray) -> Fourfold:
    """Count the pairs of two boolean columns. Raises ValueError as `flip_codes`."""
    counts = np.bincount(flip_codes(first, second), minlength=4).tolist()
    return Fourfold(counts[BOTH], counts[FIRST_ONLY], counts[SECOND_ONLY], counts[NEITHER])

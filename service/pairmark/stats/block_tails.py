"""Exact tails of a sum of independent hypergeometric counts, in integers.

Each block holds n benign and m attacked episodes with K successes between them. If the attack changes nothing, every
split of the K is equally likely, and the benign successes of a block are hypergeometric; those of all blocks are a
sum of independent ones. Equal blocks are counted, not repeated, and blocks without a choice (K = 0, K = n + m, n = 0,
m = 0) only shift the sum.

The numbers of splits are the coefficients of a product of polynomials; packed into one big integer (Kronecker
substitution) the product is a product of powers and a tail is one remainder. For more blocks than that is good for,
`tilted_tails` does it in floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
import numpy.typing as npt

from pairmark.stats.arrays import IntArray, compact, integers, paired_codes, same_length

EXACT_BITS = 2**18
"""Largest packed product worth making: some hundred blocks, some hundredths of a second."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockKinds:
    """Kinds of blocks with a choice, and the observed benign successes above the least possible.

    In a block of the kind, `drawn` of `size` episodes are drawn and `marked` are marked; the count is how many of the
    drawn are marked. It does not change when benign and success trade places, and the smaller one is drawn.
    """

    size: IntArray
    drawn: IntArray
    marked: IntArray
    count: IntArray
    """How many blocks are of the kind, shape (kinds,) as the others."""
    observed: int
    """In 0..span."""
    span: int
    """Largest possible sum above the least."""

    @classmethod
    def of(
        cls,
        benign_successes: npt.ArrayLike,
        benign_trials: npt.ArrayLike,
        attacked_successes: npt.ArrayLike,
        attacked_trials: npt.ArrayLike,
    ) -> Self:
        """From one row per block. Raises ValueError unless 0 <= successes <= trials in both arms of every block."""
        x, n = integers(benign_successes, "benign_successes"), integers(benign_trials, "benign_trials")
        y, m = integers(attacked_successes, "attacked_successes"), integers(attacked_trials, "attacked_trials")
        for column, name in ((n, "benign_trials"), (y, "attacked_successes"), (m, "attacked_trials")):
            same_length(x.size, column.size, name)
        impossible = np.flatnonzero((x < 0) | (x > n) | (y < 0) | (y > m))
        if impossible.size:
            row = int(impossible[0])
            raise ValueError(
                f"block {row}: expected 0 <= successes <= trials in both arms,"
                f" found {x[row]} of {n[row]} and {y[row]} of {m[row]}"
            )
        size, successes = n + m, x + y
        least = np.maximum(0, successes - m)
        width = np.minimum(n, successes) - least
        free = width > 0
        observed, span = int((x - least)[free].sum()), int(width[free].sum())
        size, n, successes = size[free], n[free], successes[free]
        trade = np.minimum(successes, size - successes) < np.minimum(n, size - n)
        drawn, marked = np.where(trade, successes, n), np.where(trade, n, successes)
        if not size.size:
            return cls(size, drawn, marked, np.zeros(0, dtype=np.int64), observed, span)
        kind, kinds = compact(paired_codes(drawn, marked, int(marked.max()) + 1))
        kind, kinds = compact(paired_codes(kind, size, int(size.max()) + 1))
        member = np.empty(kinds, dtype=np.int64)
        member[kind] = np.arange(kind.size)
        return cls(size[member], drawn[member], marked[member], np.bincount(kind), observed, span)

    def rows(self) -> list[tuple[int, int, int, int]]:
        """(size, drawn, marked, count) of each kind, as Python integers."""
        return list(
            zip(self.size.tolist(), self.drawn.tolist(), self.marked.tolist(), self.count.tolist(), strict=True)
        )

    def packed_bits(self) -> float:
        """About how many bits the packed product of `exact_tails` has."""
        log = math.lgamma
        splits = math.fsum(c * (log(s + 1) - log(d + 1) - log(s - d + 1)) for s, d, _, c in self.rows())
        return (splits / math.log(2) + 2) * (self.span + 1)


def exact_tails(kinds: BlockKinds) -> tuple[Fraction, Fraction, Fraction]:
    """P(sum >= observed), P(sum <= observed), P(sum = observed), exact.

    Time grows faster than `packed_bits`; above EXACT_BITS `log_tails` serves better.
    """
    splits = 1
    for size, drawn, _, count in kinds.rows():
        splits *= math.comb(size, drawn) ** count
    digit = splits.bit_length() + 1
    packed = 1
    for size, drawn, marked, count in kinds.rows():
        low, high = max(0, drawn + marked - size), min(drawn, marked)
        one = 0
        for j in range(high, low - 1, -1):
            one = (one << digit) | (math.comb(marked, j) * math.comb(size - marked, drawn - j))
        packed *= one**count
    # Digits from `observed` up, then their sum: a number is congruent to its digit sum modulo base - 1, and the sum
    # is at most `splits`, below base - 1.
    upper = packed >> (digit * kinds.observed)
    exactly = Fraction(upper & ((1 << digit) - 1), splits)
    at_least = Fraction(upper % ((1 << digit) - 1), splits)
    return at_least, 1 - at_least + exactly, exactly

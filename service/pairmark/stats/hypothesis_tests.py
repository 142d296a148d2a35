"""Tests of "the attack changes nothing", of a drop's sign, and Holm's correction for several at once.

Harm means that the benign arm succeeds more often. Every two-sided p is min(1, twice the smaller tail).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from pairmark.stats.block_tails import EXACT_BITS, BlockKinds, exact_tails
from pairmark.stats.tilted_tails import log_tails
from pairmark.stats.variance import Variance


@dataclass(frozen=True, slots=True)
class TailTest:
    """An exact test, from its two tails. p-values lie in [0, 1], and are 0 only where they fall below 1e-308."""

    p_harm: float
    """Probability of as many benign successes as seen or more."""
    p_gain: float
    """Probability of as many as seen or fewer."""
    p_two_sided: float
    mid_p: float | None
    """Two-sided p less the probability of what was seen; None where no pair or block leaves a choice."""
    log10_p_two_sided: float
    """For a p too small for a float."""
    fractions: tuple[Fraction, Fraction, Fraction] | None
    """(two-sided, harm, gain) exactly; None where the numbers are too large to be worth it."""


def mcnemar_exact(lost: int, gained: int) -> TailTest:
    """McNemar's exact test on independent pairs: `lost` succeeded only without the attack, `gained` only with it.

    Valid only for one injection and one epoch per task; anything else shares episodes between pairs and is for
    `block_test`. No flips at all give p = 1. Raises ValueError for a negative count.
    """
    if lost < 0 or gained < 0:
        raise ValueError(f"expected counts of at least 0, found lost {lost} and gained {gained}")
    # A pair that flips is a block of one benign and one attacked episode with one success: a fair coin.
    flips = lost + gained
    coin = [2], [1], [1], [flips]
    size, drawn, marked, count = (np.asarray(values[: 1 if flips else 0], dtype=np.int64) for values in coin)
    return _from_kinds(BlockKinds(size, drawn, marked, count, lost, flips))


def block_test(
    benign_successes: npt.ArrayLike,
    benign_trials: npt.ArrayLike,
    attacked_successes: npt.ArrayLike,
    attacked_trials: npt.ArrayLike,
) -> TailTest:
    """Exact stratified test of "the attack changes nothing"; one row of integers per block (task, epoch).

    Given each block's successes in both arms together, the benign ones are hypergeometric if the attack does nothing.
    Blocks in which nothing could have gone otherwise do not count; where all are so, p is 1. Raises ValueError unless
    0 <= successes <= trials in both arms of every block.
    """
    return _from_kinds(BlockKinds.of(benign_successes, benign_trials, attacked_successes, attacked_trials))


def p_attacked_above_benign(drop: float, variance: Variance) -> float | None:
    """One-sided p of Student's t for "under attack the utility is higher": small where the drop is well below 0.

    None where the variance is 0: then t is undefined, and a caller that must decide holds any drop below 0.
    """
    if variance.df is None:
        return None
    from scipy import special

    return float(special.stdtr(variance.df, drop / variance.se))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given; none in, none out.

    Raises ValueError for one outside [0, 1]. Source: Holm, Scandinavian J. of Statistics 6, 1979.
    """
    astray = [p for p in p_values if not 0 <= p <= 1]
    if astray:
        raise ValueError(f"p_values: expected numbers in [0, 1], found {astray[0]}")
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def _from_kinds(kinds: BlockKinds) -> TailTest:
    if kinds.packed_bits() <= EXACT_BITS:
        harm, gain, seen = exact_tails(kinds)
        both = min(Fraction(1), 2 * min(harm, gain))
        mid = float(both - seen) if kinds.span else None
        return TailTest(float(harm), float(gain), float(both), mid, _log10(both), (both, harm, gain))
    tails = log_tails(kinds)
    log_both = min(0.0, math.log(2) + min(tails.at_least, tails.at_most))
    p = math.exp(log_both)
    mid_p = max(0.0, p - math.exp(tails.exactly))
    return TailTest(math.exp(tails.at_least), math.exp(tails.at_most), p, mid_p, log_both / math.log(10), None)


def _log10(value: Fraction) -> float:
    """log10 of a fraction in (0, 1], however small."""
    return math.log10(value.numerator) - math.log10(value.denominator)

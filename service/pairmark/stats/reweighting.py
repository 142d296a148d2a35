"""The same strata in two mixes: what changed in a headline number, and what it would be on a common mix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from pairmark.stats.arrays import reals, same_length

MIN_STRATUM_TASKS = 5
MAX_WEIGHT_RATIO = 3


@dataclass(frozen=True, slots=True)
class Split:
    """A change in a weighted mean, split. within + mix = total, exactly."""

    total: Fraction
    within: Fraction
    """What the strata's own rates changed, at the average mix."""
    mix: Fraction
    """What the weights of the strata changed, at the average rates."""


def kitagawa(
    old_rates: Sequence[Fraction | None],
    old_mix: Sequence[Fraction],
    new_rates: Sequence[Fraction | None],
    new_mix: Sequence[Fraction],
) -> Split:
    """Split new minus old into within and mix; one entry per stratum, mixes summing to 1.

    A rate may be None only where its weight is 0 (a stratum that one side does not have): then the other side's rate
    stands in, and the stratum counts as mix alone. Raises ValueError for mixes that do not sum to 1, negative weights,
    an unknown rate with weight, or lengths that differ. Source: Kitagawa, JASA 50, 1955.
    """
    _check_mix(old_mix, "old_mix")
    _check_mix(new_mix, "new_mix")
    for column, name in ((old_mix, "old_mix"), (new_rates, "new_rates"), (new_mix, "new_mix")):
        same_length(len(old_rates), len(column), name)
    within, mix = Fraction(0), Fraction(0)
    rows = zip(old_rates, old_mix, new_rates, new_mix, strict=True)
    for stratum, (old_rate, old_share, new_rate, new_share) in enumerate(rows):
        for rate, share, side in ((old_rate, old_share, "old"), (new_rate, new_share, "new")):
            if rate is None and share != 0:
                raise ValueError(f"stratum {stratum}: expected a rate for its {side} weight {share}, found none")
        if old_share == 0 and new_share == 0:
            continue
        before = old_rate if old_rate is not None else new_rate
        after = new_rate if new_rate is not None else old_rate
        if before is None or after is None:
            raise ValueError(f"stratum {stratum}: expected a rate, found none on either side")
        within += (after - before) * (old_share + new_share) / 2
        mix += (new_share - old_share) * (before + after) / 2
    return Split(within + mix, within, mix)


def standardised(rates: Sequence[Fraction], common_mix: Sequence[Fraction]) -> Fraction:
    """The rate on a common mix: the strata's own rates under common weights. Raises ValueError as `kitagawa`."""
    _check_mix(common_mix, "common_mix")
    same_length(len(common_mix), len(rates), "rates")
    return sum((rate * share for rate, share in zip(rates, common_mix, strict=True)), start=Fraction(0))


def standardised_se(standard_errors: Sequence[float], common_mix: Sequence[Fraction]) -> float:
    """Standard error of `standardised`, for strata that share neither tasks nor injections.

    Strata that share injections are not independent: cluster over all of them instead
    (`variance.clustered_variance` with common weights). Raises ValueError as `kitagawa`, or for a negative error.
    """
    _check_mix(common_mix, "common_mix")
    same_length(len(common_mix), len(standard_errors), "standard_errors")
    negative = [se for se in standard_errors if se < 0]
    if negative:
        raise ValueError(f"standard_errors: expected none below 0, found {negative[0]}")
    return math.sqrt(math.fsum((float(c) * se) ** 2 for c, se in zip(common_mix, standard_errors, strict=True)))


def kish_effective(weights: npt.ArrayLike) -> float:
    """How many equally weighted units unequal weights are worth: (sum w)^2 / sum w^2, in [1, n].

    Raises ValueError for no weights, a negative one, or all of them 0. Source: Kish, Survey Sampling, 1965.
    """
    w = reals(weights, "weights")
    if bool(np.any(w < 0)):
        raise ValueError(f"weights: expected none below 0, found {float(w.min())}")
    if not bool(np.any(w > 0)):
        raise ValueError("weights: expected some weight above 0, found none")
    # Relative to the largest, so that squares of small weights do not vanish.
    relative = w / w.max()
    return math.fsum(relative.tolist()) ** 2 / math.fsum((relative * relative).tolist())


def standardisation_refusal(
    tasks: Sequence[int], own_mix: Sequence[Fraction], common_mix: Sequence[Fraction]
) -> str | None:
    """Why one side must not be put on a common mix; None where it may. One entry per common stratum.

    `tasks` it has there, its `own_mix` and the `common_mix`. Refused where a common stratum has fewer than 5 tasks,
    where it is to weigh more than 3 times what it does in the side's own mix (one lucky task would carry the number),
    or where the reweighted tasks are worth less than half their number (Kish). Ask for both sides. Raises ValueError
    as `kitagawa`, and for a stratum without tasks that has a weight.
    """
    _check_mix(own_mix, "own_mix")
    _check_mix(common_mix, "common_mix")
    same_length(len(common_mix), len(own_mix), "own_mix")
    same_length(len(common_mix), len(tasks), "tasks")
    square = Fraction(0)
    for stratum, (count, own, common) in enumerate(zip(tasks, own_mix, common_mix, strict=True)):
        if common == 0:
            continue
        if count < MIN_STRATUM_TASKS:
            return f"stratum {stratum}: needs at least {MIN_STRATUM_TASKS} tasks, found {count}"
        if own == 0:
            raise ValueError(f"own_mix: expected weight above 0 for the {count} tasks of stratum {stratum}, found 0")
        if common / own > MAX_WEIGHT_RATIO:
            return (
                f"stratum {stratum}: its weight would grow by more than {MAX_WEIGHT_RATIO} times,"
                f" from {float(own):.4f} to {float(common):.4f}"
            )
        # Equal weights inside a stratum: n tasks at c/n each add c^2/n to the sum of squares.
        square += common * common / count
    n_eff = float(1 / square)
    held = sum(count for count, common in zip(tasks, common_mix, strict=True) if common != 0)
    if n_eff < held / 2:
        return f"the {held} tasks would be worth {n_eff:.1f}, less than half of them"
    return None


def _check_mix(mix: Sequence[Fraction], name: str) -> None:
    negative = [share for share in mix if share < 0]
    if negative:
        raise ValueError(f"{name}: expected no weight below 0, found {negative[0]}")
    total = sum(mix, start=Fraction(0))
    if total != 1:
        raise ValueError(f"{name}: expected weights that sum to 1, found {total}")

"""Two-sided 95 % intervals for rates and for differences of two arms on the same cells.

A rate gets Wilson's interval with as many trials as the clustered variance is worth; a difference gets t times its
standard error, and never less than a floor, because "no difference was seen in T tasks" is not "there is none".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pairmark.stats.arrays import reals, sums_by
from pairmark.stats.crossing import Crossing
from pairmark.stats.variance import Variance

LEVEL = 0.95
Z = 1.959963984540054
"""Normal quantile at 0.975."""
FLOOR_BELOW_TASKS = 10
"""With fewer tasks than this departing from "all the same", a difference's half-width has a floor."""
SAME = 1e-9
"""Mean differences closer than this are equal: cells and epochs of a task divide into far fewer than 1e9 parts."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % interval that contains its estimate, and how it came about."""

    low: float
    high: float
    method: str
    df: float | None
    """Degrees of freedom of t; None where the normal quantile or the floor stands in its place."""
    n_eff: float | None
    """Independent tasks that a rate is worth; None for a difference."""
    floored: bool
    """Whether the floor, not the standard error, gave the width of a difference."""


def t_quantile(df: float) -> float:
    """Student's t at 0.975. Raises ValueError for df not above 0."""
    if not df > 0:
        raise ValueError(f"df: expected a number above 0, found {df}")
    from scipy import special

    return float(special.stdtrit(df, 1 - (1 - LEVEL) / 2))


def wilson(estimate: float, n: float, critical: float = Z) -> tuple[float, float]:
    """Wilson's score interval for a rate seen in n trials, n above 0 and not necessarily whole; inside [0, 1].

    `critical` is the quantile used, normal or t. Raises ValueError for no trials (no number, no interval) or a rate
    outside [0, 1]. Source: Wilson, JASA 22, 1927.
    """
    if not n > 0:
        raise ValueError(f"n: expected more than 0 trials, found {n}: a rate over nothing is undefined")
    if not 0 <= estimate <= 1:
        raise ValueError(f"estimate: expected a rate in [0, 1], found {estimate}")
    shrink = critical * critical / n
    centre = (estimate + shrink / 2) / (1 + shrink)
    half = critical / (1 + shrink) * math.sqrt(estimate * (1 - estimate) / n + shrink / (4 * n))
    # min and max: rounding must not put the estimate outside its own interval.
    low = 0.0 if estimate == 0 else min(estimate, max(0.0, centre - half))
    high = 1.0 if estimate == 1 else max(estimate, min(1.0, centre + half))
    return low, high


def clopper_pearson(successes: int, n: int) -> tuple[float, float]:
    """The exact binomial interval of successes in n independent trials.

    Raises ValueError unless n >= 1 and 0 <= successes <= n. Source: Clopper and Pearson, Biometrika 26, 1934.
    """
    if n < 1:
        raise ValueError(f"n: expected at least 1 trial, found {n}: a rate over nothing is undefined")
    if not 0 <= successes <= n:
        raise ValueError(f"successes: expected 0 to {n}, found {successes}")
    from scipy import special

    tail = (1 - LEVEL) / 2
    low = 0.0 if successes == 0 else float(special.betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(special.betaincinv(successes + 1, n - successes, 1 - tail))
    return low, high


def rate_interval(estimate: float, variance: Variance, tasks: int) -> Interval:
    """Wilson's interval at n_eff = min(T, 1 + p(1-p)/V) with t(df), or at T with the normal quantile.

    `tasks` is T, at least 1: the tasks behind the rate (for a conditional rate, those that contribute). The normal
    quantile and T serve where the variance is 0 or the rate is 0 or 1: there the sample says nothing of its spread.
    Whether an interval may be shown at all is for `scope` to say. Raises ValueError as `wilson`.
    """
    if variance.df is None or estimate in (0.0, 1.0):
        low, high = wilson(estimate, tasks)
        return Interval(low, high, "wilson", None, float(tasks), False)
    n_eff = min(float(tasks), 1 + estimate * (1 - estimate) / variance.value)
    low, high = wilson(estimate, n_eff, t_quantile(variance.df))
    return Interval(low, high, "wilson-clustered-t", variance.df, n_eff, False)


def floor_half_width(tasks: int) -> float:
    """z^2 / (T + z^2), in (0, 1): the Wilson bound for 0 of T, which is also Tango's for T pairs without a flip."""
    if tasks < 1:
        raise ValueError(f"tasks: expected at least 1, found {tasks}")
    return Z * Z / (tasks + Z * Z)


def tasks_departing(differences: npt.ArrayLike, crossing: Crossing) -> int:
    """The fewest tasks whose mean difference is not 0, not 1, or not -1.

    `differences` has one number per cell, in the caller's order. A task's cells count equally, as they do under every
    weighting.
    """
    d = crossing.arranged(reals(differences, "differences"), "differences")
    means = sums_by(crossing.task, d, crossing.task_count) / crossing.cells_per_task()
    return min(int(np.count_nonzero(np.abs(means - same) > SAME)) for same in (0.0, 1.0, -1.0))


def difference_interval(
    estimate: float, variance: Variance, tasks: int, departing: int, limit: float = 1.0
) -> Interval:
    """The estimate +- t(df) sqrt(V), at least the floor where fewer than 10 tasks depart, inside [-limit, limit].

    `departing` is `tasks_departing`. The floor also holds where the variance is 0, whatever departs: an interval of
    no width would claim what no sample shows. `limit` is the largest difference there can be: 1 between two rates, 2
    between two differences, and the floor is in its unit. Raises ValueError for an estimate outside the limits.
    """
    if not -limit <= estimate <= limit:
        raise ValueError(f"estimate: expected a difference in [-{limit}, {limit}], found {estimate}")
    half, df, floored = 0.0, variance.df, False
    if variance.df is not None:
        half = t_quantile(variance.df) * variance.se
    if departing < FLOOR_BELOW_TASKS or variance.df is None:
        floor = limit * floor_half_width(tasks)
        if floor > half:
            half, df, floored = floor, None, True
    low, high = max(-limit, estimate - half), min(limit, estimate + half)
    return Interval(low, high, "floor" if floored else "paired-clustered-t", df, None, floored)

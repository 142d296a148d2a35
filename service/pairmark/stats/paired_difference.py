"""How far a difference on the same cells can be off, and how surprising it would be if there were none.

The p-value is read off the same distribution as the interval: it is below 0.05 exactly where the interval leaves out 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from pairmark.stats.crossing import Crossing
from pairmark.stats.intervals import (
    Interval,
    Z,
    difference_interval,
    floor_half_width,
    tasks_departing,
)
from pairmark.stats.scope import Scope
from pairmark.stats.variance import Variance, clustered_variance


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """Interval and two-sided p-value of a difference; both None, with the reason, where the tasks are too few."""

    interval: Interval | None
    p_value: float | None
    """In [0, 1]: of "no difference", for the tasks (and injections) that the scope speaks for."""
    reason: str | None


def paired_uncertainty(
    estimate: float,
    differences: npt.ArrayLike,
    crossing: Crossing,
    weights: npt.ArrayLike,
    scope: Scope,
    *,
    sample_injections: bool,
    limit: float = 1.0,
) -> Uncertainty:
    """Of the weighted mean `estimate` of `differences`, one per cell in the caller's order; `weights` as `clustered_variance`.

    `sample_injections` must be False for benign outcomes, which no injection touches; else it is the scope's. `limit`
    is the largest difference there can be. Raises ValueError as `clustered_variance` and `difference_interval`.
    """
    if scope.no_interval_reason is not None:
        return Uncertainty(None, None, scope.no_interval_reason)
    variance = clustered_variance(
        differences,
        weights,
        crossing,
        sample_injections=sample_injections and scope.samples_injections,
    )
    tasks = crossing.task_count
    interval = difference_interval(estimate, variance, tasks, tasks_departing(differences, crossing), limit)
    return Uncertainty(interval, p_no_difference(estimate, variance, interval, tasks, limit), None)


def p_no_difference(estimate: float, variance: Variance, interval: Interval, tasks: int, limit: float = 1.0) -> float:
    """Two-sided p of no difference, in [0, 1]: t(df), or the normal distribution where the floor gave the width."""
    from scipy import special

    if interval.floored or variance.df is None:
        half_width = limit * floor_half_width(tasks)
        return float(2 * special.ndtr(-abs(estimate) * Z / half_width))
    return float(2 * special.stdtr(variance.df, -abs(estimate) / variance.se))

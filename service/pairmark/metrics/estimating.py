"""From exact values and counts to what a report says: fraction, decimal, interval or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from pairmark.domain.documents.metric_values import (
    Estimate,
    IntervalScope,
    NoInterval,
    Number,
    ReleasedInterval,
    Undefined,
)
from pairmark.domain.pairing import Outcomes
from pairmark.domain.sample import Sample
from pairmark.stats.arrays import FloatArray
from pairmark.stats.crossing import Weighting
from pairmark.stats.exact import cell_values, decimal_string, weighted_mean
from pairmark.stats.intervals import Interval, difference_interval, rate_interval, tasks_departing
from pairmark.stats.variance import Variance

SINGLE_TASK_GROUP_FLAG = "single-task-group"
"""A group of one task shows no variance between tasks: its share of the interval's width is missing."""

EMPTY = "no cell is assessed in both arms"
"""Why benign utility, utility under attack and their difference are undefined."""


def undefined(reason: str, counts: Mapping[str, int] | None = None) -> Undefined:
    """No number, and why."""
    return Undefined(value=None, reason=reason, counts=dict(counts or {}))


def estimate(value: Fraction, interval: ReleasedInterval | NoInterval, counts: Mapping[str, int]) -> Estimate:
    """A number with its interval."""
    return Estimate(value=decimal_string(value), fraction=as_fraction(value), interval=interval, counts=dict(counts))


def as_fraction(value: Fraction) -> str:
    """`numerator/denominator`, reduced, the denominator always there."""
    return f"{value.numerator}/{value.denominator}"


def rate(
    sample: Sample, outcomes: Outcomes, weighting: Weighting, counts: Mapping[str, int], *, injections: bool
) -> Estimate:
    """A weighted mean of successes/known over the sample's cells; `outcomes` has one entry per cell of the sample.

    `injections` is False for benign outcomes, which no injection touches: then only tasks are clusters.
    """
    value = weighted_mean(outcomes.successes, outcomes.known, sample.crossing, weighting)
    values = cell_values(outcomes.successes, outcomes.known)
    return estimate(value, clustered_rate(value, values, sample, weighting, sample.tasks, injections=injections), counts)


def clustered_rate(
    value: Fraction, values: FloatArray, sample: Sample, weighting: Weighting, tasks: int, *, injections: bool
) -> ReleasedInterval | NoInterval:
    """Interval of a rate whose variance is that of `values`, one per cell; `tasks` is the T behind it."""
    if sample.scope.no_interval_reason is not None:
        return NoInterval(reason=sample.scope.no_interval_reason)
    sampled = injections and sample.scope.samples_injections
    variance = sample.weighted(weighting).variance(values, sample_injections=sampled)
    found = rate_interval(float(value), variance, tasks)
    return _released(found, variance, values, sample, weighting, injections=injections)


def difference(
    value: Fraction,
    differences: FloatArray,
    variance: Variance,
    sample: Sample,
    weighting: Weighting,
    counts: Mapping[str, int],
) -> Estimate:
    """A difference of two rates on the sample's cells; `variance` is that of `differences`, one per cell."""
    interval: ReleasedInterval | NoInterval
    if sample.scope.no_interval_reason is not None:
        interval = NoInterval(reason=sample.scope.no_interval_reason)
    else:
        departing = tasks_departing(differences, sample.crossing)
        found = difference_interval(float(value), variance, sample.tasks, departing)
        interval = _released(found, variance, differences, sample, weighting, injections=True)
    return estimate(value, interval, counts)


def _released(
    found: Interval, variance: Variance, values: FloatArray, sample: Sample, weighting: Weighting, *, injections: bool
) -> ReleasedInterval:
    scope: IntervalScope = sample.scope.name if injections else "tasks"
    pigeonhole = None
    if scope == "tasks+injections":
        pigeonhole = sample.weighted(weighting).pigeonhole(values, variance)
    return ReleasedInterval(
        level="0.95",
        low=decimal_string(found.low),
        high=decimal_string(found.high),
        method=found.method,
        scope=scope,
        standard_error=decimal_string(variance.se),
        pigeonhole_standard_error=None if pigeonhole is None else decimal_string(math.sqrt(pigeonhole)),
    )


def counts_of(sample: Sample, outcomes: Outcomes) -> dict[str, int]:
    """What stands behind a rate: tasks, attacked cells, episodes with a known outcome, and successes among them."""
    return {
        "tasks": sample.tasks,
        "cells": len(sample.cells),
        "episodes": int(np.sum(outcomes.known)),
        "successes": int(np.sum(outcomes.successes)),
    }


def single_task_flag(*samples: Sample | None) -> tuple[str, ...]:
    """The flag, where an interval was given over a group of one task."""
    shown = [sample for sample in samples if sample is not None and sample.scope.no_interval_reason is None]
    return (SINGLE_TASK_GROUP_FLAG,) if any(sample.single_task_groups for sample in shown) else ()


__all__ = [
    "EMPTY",
    "SINGLE_TASK_GROUP_FLAG",
    "Number",
    "as_fraction",
    "clustered_rate",
    "counts_of",
    "difference",
    "estimate",
    "rate",
    "single_task_flag",
    "undefined",
]

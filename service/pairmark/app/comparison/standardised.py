"""Direct standardisation: two suites without enough cells in common, their groups weighed alike.

The mix of groups is the mean of the two sides' own, so that swapping the sides only turns the sign. The sides are
counted as independent samples; where they share some cells the interval is too wide rather than too narrow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pairmark.app.comparison.changes import change_of
from pairmark.app.comparison.pair import CertifiedPair
from pairmark.app.comparison.rates import RATES, UTILITY_DROP, Rate, SampledSide
from pairmark.domain.comparability import named_stratum, strata_of
from pairmark.domain.documents.comparison import Change, Changes, NoChange
from pairmark.domain.sample import Sample, sample_of
from pairmark.stats.arrays import FloatArray
from pairmark.stats.intervals import Interval, difference_interval, tasks_departing
from pairmark.stats.paired_difference import Uncertainty, p_no_difference
from pairmark.stats.reweighting import standardisation_refusal, standardised
from pairmark.stats.variance import Variance, clustered_variance

METHOD = "standardised, independent sides, clustered-t"


@dataclass(frozen=True, eq=False)
class Side:
    """The observed cells of one side for one rate, by group."""

    outcomes: SampledSide
    groups: tuple[str, ...]
    shares: tuple[Fraction, ...]
    tasks: tuple[int, ...]

    @property
    def sample(self) -> Sample:
        return self.outcomes.sample


def side_of(pair: CertifiedPair, rate: Rate) -> Side | None:
    """None where no cell has a value."""
    sample = sample_of(pair.experiment.plan, rate.observed(pair.pairing))
    if sample is None:
        return None
    strata = strata_of(sample)
    shares, tasks = ([getattr(one, part) for one in strata.values()] for part in ("share", "tasks"))
    return Side(SampledSide(pair.pairing, sample.cells, sample), tuple(strata), tuple(shares), tuple(tasks))


def refusal(left: CertifiedPair, right: CertifiedPair) -> str | None:
    """Why the two may not be standardised; None where they may."""
    here, there = side_of(left, UTILITY_DROP), side_of(right, UTILITY_DROP)
    if here is None or there is None:
        return "one side has no observed cell"
    if set(here.groups) != set(there.groups):
        return f"the strata do not match: groups {', '.join(here.groups)} against {', '.join(there.groups)}"
    for name, side, other in (("left", here, there), ("right", there, here)):
        found = standardisation_refusal(side.tasks, side.shares, _common_mix(side, other))
        if found is not None:
            return f"{name} side, {named_stratum(found, side.groups)}"
    return None


def standardised_changes(left: CertifiedPair, right: CertifiedPair) -> Changes:
    """Changes of the four rates with each side's groups at the common mix. Only where `refusal` is None."""
    return Changes(**{rate.key: _change(left, right, rate) for rate in RATES})


def _common_mix(side: Side, other: Side) -> list[Fraction]:
    elsewhere = dict(zip(other.groups, other.shares, strict=True))
    return [(own + elsewhere[group]) / 2 for group, own in zip(side.groups, side.shares, strict=True)]


def _change(left: CertifiedPair, right: CertifiedPair, rate: Rate) -> Change | NoChange:
    here, there = side_of(left, rate), side_of(right, rate)
    if here is None or there is None or set(here.groups) != set(there.groups):
        return NoChange(change=None, reason="the strata with known values do not match")
    before, after = _level(here, there, rate), _level(there, here, rate)
    tasks = min(here.sample.tasks, there.sample.tasks)
    uncertainty = _uncertainty(before, after, rate, tasks)
    return change_of(before.mean, after.mean, uncertainty, tasks, len(here.sample.cells) + len(there.sample.cells))


@dataclass(frozen=True, eq=False)
class _Level:
    mean: Fraction
    variance: Variance
    departing: int
    no_interval: str | None


def _level(side: Side, other: Side, rate: Rate) -> _Level:
    """One side's rate at the common mix, with the variance of its own cells under those weights."""
    sample, mix = side.sample, _common_mix(side, other)
    rates = [total / share for total, share in zip(side.outcomes.by_group(rate), side.shares, strict=True)]
    scale: FloatArray = np.array([float(common / own) for common, own in zip(mix, side.shares, strict=True)])
    weights = sample.weights(sample.plan.suite.weighting) * scale[sample.crossing.group]
    values = side.outcomes.values(rate)
    variance = clustered_variance(
        values,
        weights,
        sample.crossing,
        sample_injections=rate.touched_by_injections and sample.scope.samples_injections,
    )
    return _Level(standardised(rates, mix), variance, tasks_departing(values, sample.crossing), sample.scope.no_interval_reason)


def _uncertainty(before: _Level, after: _Level, rate: Rate, tasks: int) -> Uncertainty:
    reason = before.no_interval or after.no_interval
    if reason is not None:
        return Uncertainty(None, None, reason)
    change = float(after.mean - before.mean)
    both = _sum(before.variance, after.variance)
    found = difference_interval(change, both, tasks, min(before.departing, after.departing), rate.largest_change)
    method = found.method if found.floored else METHOD
    interval = Interval(found.low, found.high, method, found.df, None, found.floored)
    return Uncertainty(interval, p_no_difference(change, both, found, tasks, rate.largest_change), None)


def _sum(first: Variance, second: Variance) -> Variance:
    """Variance of a difference of independent estimates; Welch and Satterthwaite's degrees of freedom."""
    parts = [part for part in (first, second) if part.df is not None]
    total = math.fsum(part.value for part in parts)
    df = total**2 / math.fsum(part.value**2 / part.df for part in parts if part.df is not None) if parts else None
    return Variance(
        total,
        df,
        np.concatenate([first.task_parts, second.task_parts]),
        np.concatenate([first.injection_parts, second.injection_parts]),
        np.concatenate([first.task_df, second.task_df]),
        np.concatenate([first.injection_df, second.injection_df]),
    )

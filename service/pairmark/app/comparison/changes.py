"""The change of each rate from the left pair to the right one, on the same cells."""

from __future__ import annotations

from fractions import Fraction

from pairmark.app.comparison.cells import SharedCells
from pairmark.app.comparison.rates import RATES, Rate
from pairmark.domain.documents.comparison import Change, Changes, NoChange, Standing
from pairmark.domain.documents.exact import Exact
from pairmark.domain.documents.metric_values import Interval, NoInterval
from pairmark.domain.documents.probability import probability
from pairmark.stats.exact import decimal_string
from pairmark.stats.paired_difference import Uncertainty, paired_uncertainty

SIGNIFICANT = 0.05
"""Two-sided, as the 95 % intervals are."""


def paired_changes(shared: SharedCells) -> Changes:
    """Changes of the four rates over the cells with a value on both sides, with the suite's weighting over those."""
    return Changes(**{rate.key: _change(shared, rate) for rate in RATES})


def _change(shared: SharedCells, rate: Rate) -> Change | NoChange:
    found = shared.sample(rate)
    if found is None:
        return NoChange(change=None, reason="no shared cell has a value on both sides")
    sample, weighting = found.sample, found.sample.plan.suite.weighting
    before, after = found.left.mean(rate), found.right.mean(rate)
    uncertainty = paired_uncertainty(
        float(after - before),
        found.right.values(rate) - found.left.values(rate),
        sample.crossing,
        sample.weights(weighting),
        sample.scope,
        sample_injections=rate.touched_by_injections,
        limit=rate.largest_change,
    )
    return change_of(before, after, uncertainty, sample.tasks, len(sample.cells))


def change_of(left: Fraction, right: Fraction, uncertainty: Uncertainty, tasks: int, cells: int) -> Change:
    """The document of a change."""
    return Change(
        left=Exact.of(left),
        right=Exact.of(right),
        change=Exact.of(right - left),
        interval=interval_of(uncertainty),
        p_value=None if uncertainty.p_value is None else probability(uncertainty.p_value),
        standing=_standing(right - left, uncertainty),
        tasks=tasks,
        cells=cells,
    )


def interval_of(uncertainty: Uncertainty) -> Interval | NoInterval:
    """The document of an interval, or of why there is none."""
    found = uncertainty.interval
    if found is None:
        return NoInterval(reason=uncertainty.reason or "no interval can be given")
    return Interval(level="0.95", low=decimal_string(found.low), high=decimal_string(found.high), method=found.method)


def _standing(change: Fraction, uncertainty: Uncertainty) -> Standing:
    if uncertainty.interval is None:
        return "not-ranked"
    if uncertainty.interval.low <= 0 <= uncertainty.interval.high:
        return "tied"
    return "right-higher" if change > 0 else "left-higher"

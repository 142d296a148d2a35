"""Scope: what the intervals of the utilities and their difference speak for."""

from __future__ import annotations

from pairmark.domain.pairing import Pairing
from pairmark.domain.worked import worked
from pairmark.metrics.base import Metric
from pairmark.stats.scope import ScopeName


def scope(pairing: Pairing) -> ScopeName:
    """Of the observed cells; `these-injections` where there are none. Attack success has its own, with its interval."""
    return "these-injections" if pairing.sample is None else pairing.sample.scope.name


METRIC = Metric(
    key="scope",
    title="What the intervals speak for",
    formula="tasks+injections with at least 10 tasks, 8 injections and 2 in every group (8 to 13: flag few-injections),"
    " else these-injections: tasks are a sample, injections are what they are",
    source="random against fixed levels in a crossed design; thresholds from coverage in simulation",
    denominator="the observed cells",
    direction="neither",
    compute=scope,
    example=lambda: (worked({"a": "1"}, {"a": {"x": "0"}}), "these-injections"),
    flags=lambda pairing: () if pairing.sample is None else pairing.sample.scope.flags,
)

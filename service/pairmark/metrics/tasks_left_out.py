"""Tasks left out: without an assessed value in one of the arms, they are in no rate."""

from __future__ import annotations

from pairmark.domain.worked import worked
from pairmark.metrics.base import Metric

METRIC = Metric(
    key="tasks_left_out",
    title="Tasks without an assessed value in both arms",
    formula="tasks of the suite less those with an observed attacked cell",
    source="one set of tasks in both arms, as in any paired design",
    denominator="the tasks of the suite",
    direction="lower",
    compute=lambda pairing: pairing.tasks_left_out,
    example=lambda: (worked({"a": "1", "b": "-", "c": "1"}, {"a": {"x": "0"}, "b": {"x": "0"}, "c": {"x": "-"}}), 2),
)

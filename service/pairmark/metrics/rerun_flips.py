"""The flip rate of reruns: how often two benign epochs of a task differ, with no attack in either."""

from __future__ import annotations

import numpy as np

from pairmark.domain.documents.metric_values import Estimate, NoInterval, ReleasedInterval, Undefined
from pairmark.domain.pairing import Pairing
from pairmark.metrics.estimating import estimate, undefined
from pairmark.stats.crossing import Crossing, cell_weights
from pairmark.stats.exact import cell_values, decimal_string, weighted_mean
from pairmark.stats.intervals import rate_interval
from pairmark.stats.scope import decide_scope
from pairmark.stats.variance import clustered_variance


def rerun_flip_rate(pairing: Pairing) -> Estimate | Undefined:
    """Mean over tasks of the share of their pairs of benign epochs that differ; each task with two epochs counts once."""
    if pairing.benign.expected < 2:
        return undefined("one benign epoch: nothing to compare a rerun with")
    tasks = np.flatnonzero(pairing.benign.known >= 2)
    if not len(tasks):
        return undefined("no task has two assessed benign epochs")
    found = pairing.benign.at(tasks)
    flips, pairs = found.successes * (found.known - found.successes), found.known * (found.known - 1) // 2
    crossing = Crossing.of(tasks, np.zeros(len(tasks), dtype=np.int64), pairing.plan.task_group[tasks])
    value = weighted_mean(flips, pairs, crossing, "task")
    counts = {"tasks": len(tasks), "pairs": int(pairs.sum()), "flips": int(flips.sum())}
    scope = decide_scope(crossing)
    interval: ReleasedInterval | NoInterval
    if scope.no_interval_reason is not None:
        interval = NoInterval(reason=scope.no_interval_reason)
    else:
        weights = cell_weights(crossing, "task")
        variance = clustered_variance(cell_values(flips, pairs), weights, crossing, sample_injections=False)
        wilson = rate_interval(float(value), variance, len(tasks))
        interval = ReleasedInterval(
            level="0.95",
            low=decimal_string(wilson.low),
            high=decimal_string(wilson.high),
            method=wilson.method,
            scope="tasks",
            standard_error=decimal_string(variance.se),
            pigeonhole_standard_error=None,
        )
    return estimate(value, interval, counts)

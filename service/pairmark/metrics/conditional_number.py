"""What the conditional numbers share: a ratio over a part of the episodes, its interval, and when it is refused."""

from __future__ import annotations

import numpy as np

from pairmark.domain.conditions import Condition
from pairmark.domain.documents.metric_values import ConditionalEstimate, Undefined
from pairmark.domain.pairing import Pairing
from pairmark.metrics.estimating import as_fraction, clustered_rate, undefined
from pairmark.stats.conditional import conditional_rate
from pairmark.stats.exact import decimal_string


def conditional_number(
    pairing: Pairing, condition: Condition | None, nothing: str, *, injections: bool = True
) -> ConditionalEstimate | Undefined:
    """Under the suite's weighting. `nothing` says what is missing where the condition has no episode to hold in."""
    if condition is None:
        return undefined(nothing)
    sample, weighting = condition.sample, pairing.plan.suite.weighting
    found = conditional_rate(condition.hits, condition.exposed, condition.trials, sample.crossing, weighting)
    counts = {
        "contributing_tasks": found.contributing_tasks,
        "trials": int(np.sum(condition.trials)),
        "exposed": int(np.sum(condition.exposed)),
        "hits": int(np.sum(condition.hits)),
    }
    if found.value is None or found.refusal is not None:
        return undefined(found.refusal or nothing, counts)
    interval = clustered_rate(
        found.value, found.influence, sample, weighting, found.contributing_tasks, injections=injections
    )
    return ConditionalEstimate(
        value=decimal_string(found.value),
        fraction=as_fraction(found.value),
        interval=interval,
        counts=counts,
        weight=decimal_string(found.weight),
    )

"""The installed metrics, and the `metrics` block of a report."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel

import pairmark.metrics
from pairmark.domain.discovery import discover
from pairmark.domain.pairing import Pairing
from pairmark.metrics.base import Metric, Value


@cache
def installed_metrics() -> tuple[Metric, ...]:
    """Every metric found, by key; two metrics under one key are an error."""
    found: dict[str, Metric] = {}
    for plugin in discover(pairmark.metrics, "METRIC"):
        if not isinstance(plugin, Metric):
            raise TypeError(f"expected METRIC to be a Metric, found {plugin!r}")
        if plugin.key in found:
            raise ValueError(f"two metrics are called {plugin.key}")
        found[plugin.key] = plugin
    return tuple(found[key] for key in sorted(found))


def json_value(value: Value) -> Any:
    """A metric's value as JSON."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, tuple):
        return [json_value(item) for item in value]
    return value


def metrics_block(pairing: Pairing) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The JSON value of a report's `metrics`, dotted keys nested, and the flags metrics raise, sorted."""
    block: dict[str, Any] = {"weighting": pairing.experiment.suite.weighting}
    flags: set[str] = set()
    for metric in installed_metrics():
        value = metric.compute(pairing)
        place = block
        *parents, name = metric.key.split(".")
        for parent in parents:
            place = place.setdefault(parent, {})
        place[name] = json_value(value)
        flags.update(metric.flags(pairing))
    return block, tuple(sorted(flags))

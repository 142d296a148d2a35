"""Every installed metric keeps the contract of a metric: its words, its place in the report, its own example."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from pairmark.domain.documents.metric_values import Metrics
from pairmark.metrics.base import Metric
from pairmark.metrics.registry import installed_metrics, json_value

METRICS = installed_metrics()


def named(metric: Metric) -> str:
    return metric.key


def model_at(key: str) -> Any:
    """The annotation of a dotted key in the report's model."""
    model: Any = Metrics
    for name in key.split("."):
        assert issubclass(model, BaseModel)
        assert name in model.model_fields, f"{key}: {model.__name__} has no {name}"
        model = model.model_fields[name].annotation
    return model


@pytest.mark.parametrize("metric", METRICS, ids=named)
def test_it_says_what_it_is(metric: Metric) -> None:
    for words in (metric.title, metric.formula, metric.source, metric.denominator):
        assert len(words) > 10
    assert metric.direction in ("higher", "lower", "neither")


@pytest.mark.parametrize("metric", METRICS, ids=named)
def test_its_example_holds(metric: Metric) -> None:
    pairing, expected = metric.example()
    assert json_value(metric.compute(pairing)) == expected


@pytest.mark.parametrize("metric", METRICS, ids=named)
def test_its_key_is_one_of_the_report(metric: Metric) -> None:
    assert model_at(metric.key) is not None

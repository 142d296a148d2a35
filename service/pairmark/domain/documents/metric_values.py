"""Shapes of released numbers: exact fraction, six-place decimal string, interval or the reason why there is none."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints
from typing_extensions import TypeAliasType

from pairmark.domain.documents.base import Count, SafeInteger, Strict, Text
from pairmark.domain.documents.suite import Weighting

Decimal6 = Annotated[str, StringConstraints(pattern=r"^-?[0-9]+[.][0-9]{6}$", max_length=32)]
ExactFraction = Annotated[str, StringConstraints(pattern=r"^-?(0|[1-9][0-9]*)/[1-9][0-9]*$")]
Scope = Literal["tasks+injections", "these-injections"]

MetricValue = TypeAliasType(
    "MetricValue", "bool | SafeInteger | str | tuple[MetricValue, ...] | dict[str, MetricValue] | None"
)
"""What a metric outside the contract may hold: JSON without floats."""


class Interval(Strict):
    """Two-sided interval; `low` and `high` are decimal strings."""

    level: Literal["0.95"]
    low: Decimal6
    high: Decimal6
    method: Text


class NoInterval(Strict):
    reason: Text


class Estimate(Strict):
    """A defined number. `counts` and `weights` name what stands behind it."""

    value: Decimal6
    fraction: ExactFraction
    interval: Interval | NoInterval
    counts: dict[str, Count] = Field(default_factory=dict)


class Undefined(Strict):
    """An empty or refused number, never 0 or 1."""

    value: None
    reason: Text
    counts: dict[str, Count] = Field(default_factory=dict)


Number = Estimate | Undefined


class Metrics(Strict):
    """The contract's keys, and whatever further metrics are installed (JSON without floats)."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)
    __pydantic_extra__: dict[str, MetricValue]

    weighting: Weighting
    scope: Scope
    benign_utility: Number
    utility_under_attack: Number
    utility_drop: Number
    attack_success_rate: Number

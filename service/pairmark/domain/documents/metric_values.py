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
IntervalScope = Literal["tasks+injections", "these-injections", "tasks"]
"""What an interval speaks for; `tasks` where no injection touches the number."""

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


class ReleasedInterval(Interval):
    """The interval of a report's number, and what it speaks for.

    `pigeonhole_standard_error`, a cross-check, is the exact limit of the bootstrap that resamples tasks and injections
    apart; null where the crossing is incomplete or the scope is another.
    """

    scope: IntervalScope
    standard_error: Decimal6
    pigeonhole_standard_error: Decimal6 | None


class NoInterval(Strict):
    reason: Text


class Estimate(Strict):
    """A defined number. `counts` are what stands behind it."""

    value: Decimal6
    fraction: ExactFraction
    interval: ReleasedInterval | NoInterval
    counts: dict[str, Count] = Field(default_factory=dict)


class Undefined(Strict):
    """An empty or refused number, never 0 or 1."""

    value: None
    reason: Text
    counts: dict[str, Count] = Field(default_factory=dict)


Number = Estimate | Undefined


class CellWeighted(Strict):
    """The rates with every attacked cell counting once, for comparison with leaderboards."""

    benign_utility: Number
    utility_under_attack: Number
    attack_success_rate: Number


class Metrics(Strict):
    """The contract's keys, and whatever further metrics are installed (JSON without floats)."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)
    __pydantic_extra__: dict[str, MetricValue]

    weighting: Weighting
    scope: Scope
    tasks_left_out: Count
    benign_utility: Number
    utility_under_attack: Number
    utility_drop: Number
    attack_success_rate: Number
    cell_weighted: CellWeighted

"""Shapes of released numbers: exact fraction, six-place decimal string, interval or the reason why there is none."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints
from typing_extensions import TypeAliasType

from pairmark.domain.documents.base import Count, Digest, Identifier, Ordinal, SafeInteger, Strict, Text
from pairmark.domain.documents.probability import Probability
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


class Bound(Strict):
    """The least and the most a number can be, whatever the outcomes are that nobody saw."""

    low: Decimal6
    high: Decimal6
    low_fraction: ExactFraction
    high_fraction: ExactFraction


class Bounds(Strict):
    """Over every planned cell and declared epoch, with outcomes that are not known set to all-fail and all-pass."""

    benign_utility: Bound | Undefined
    utility_under_attack: Bound | Undefined
    utility_drop: Bound | Undefined
    attack_success_rate: Bound | Undefined


class ConditionalEstimate(Estimate):
    """A rate over a part of the episodes. `weight` is the share of the suite's weight on which the condition held."""

    weight: Decimal6


class CleanEstimate(ConditionalEstimate):
    """`reference` is what another benign epoch gives in place of the attack; null, with a caution, where there is one."""

    reference: Number | None
    caution: Text | None


class NoCleanEstimate(Undefined):
    reference: Number | None
    caution: Text | None


class Exposure(Strict):
    """Episodes completed under attack, by what they met."""

    resisted: Count
    blocked: Count
    inert: Count
    baseline_unknown: Count
    delivery_unknown: Count
    completions: Count


class Conditioned(Strict):
    """Numbers over a part of the episodes. None of them is for comparison between systems."""

    on_clean_success: CleanEstimate | NoCleanEstimate
    on_delivery: ConditionalEstimate | Undefined
    non_delivery_share: ConditionalEstimate | Undefined
    exposure: Exposure | Undefined


class Flip(Strict):
    task: Identifier
    injection: Identifier
    epoch: Ordinal
    kind: Literal["lost", "gained", "kept", "neither"]


class Flips(Strict):
    """Pairs of a benign and an attacked outcome of one cell and epoch.

    `unpaired` attacked episodes have no known benign outcome of their epoch. `cells` holds the first 100 of the list of
    all pairs; `cells_digest` names the whole list. `rerun_flip_rate` is how often two benign epochs of a task differ.
    """

    lost: Count
    gained: Count
    kept: Count
    neither: Count
    unpaired: Count
    rerun_flip_rate: Number
    cells: Annotated[tuple[Flip, ...], Field(max_length=100)]
    cells_digest: Digest


class NoEffect(Strict):
    """Exact two-sided test of "the attack changes nothing"."""

    method: Literal["exact-mcnemar", "exact-blocks"]
    p_value: Probability
    counts: dict[str, Count]


class Tests(Strict):
    no_effect: NoEffect | Undefined


class TagTest(Strict):
    """Mean drop of the tasks that carry a tag less that of the others, inside groups.

    `p_adjusted` is corrected for all tags tested. `interval` says why there is none.
    """

    tag: Identifier
    carrying: Count
    lacking: Count
    difference: Decimal6
    interval: NoInterval
    method: Literal["max-t-permutation"]
    p_value: Probability
    p_adjusted: Probability
    seed: Count
    permutations: Ordinal


class UntestedTag(Strict):
    tag: Identifier
    carrying: Count
    lacking: Count
    difference: None
    reason: Text


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
    bounds: Bounds
    conditioned: Conditioned
    flips: Flips
    tests: Tests
    tags: tuple[TagTest | UntestedTag, ...]

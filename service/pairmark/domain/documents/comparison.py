"""Comparison (`pairmark/comparison/v1`): two certified pairs on the same cells. Every change is right minus left."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pairmark.domain.documents.base import Count, Document, Identifier, Ordinal, Strict, Text
from pairmark.domain.documents.exact import Exact
from pairmark.domain.documents.metric_values import Interval, NoInterval, Scope
from pairmark.domain.documents.probability import Probability
from pairmark.domain.documents.report import Flag, PolicyReference, ReportRuns, ReportSuite
from pairmark.domain.documents.suite import Weighting

Standing = Literal["tied", "left-higher", "right-higher", "not-ranked"]
MixKind = Literal["same-mix", "common-mix", "standardised"]
Flip = Literal["left-only", "right-only"]


class ComparedSystem(Strict):
    """What ran: served models, provider, defenses as `name version`, attack, harness and scaffold. Null: unrecorded."""

    models: tuple[Identifier, ...]
    provider: Identifier | None
    defenses: tuple[Identifier, ...] | None
    attack: Identifier | None
    harness: Identifier | None
    scaffold: Identifier | None


class ComparedSide(Strict):
    """One certified pair. `certificate` is its id, null for a pair that was read from files."""

    certificate: Identifier | None
    suite: ReportSuite
    policy: PolicyReference
    runs: ReportRuns
    flags: tuple[Flag, ...]
    system: ComparedSystem


class FieldDifference(Strict):
    """A field of the two that differs, by pointer-like name, e.g. `system.model.served`."""

    field: Identifier
    left: Text | None
    right: Text | None


class Mix(Strict):
    """What the two numbers of every change are taken over.

    `same-mix`: the cells observed on both sides of one suite. `common-mix`: those of them whose content is equal in both
    suites; the shares say how much of each side's weight they hold. `standardised`: each side's own cells, its groups
    weighed alike. `left_out` counts attacked cells of the mix without a value on both sides.
    """

    kind: MixKind
    weighting: Weighting
    scope: Scope
    cells: Count
    tasks: Count
    left_out: Count
    left_share: Exact
    right_share: Exact


class Change(Strict):
    """One number on both sides, and its change from left to right.

    `standing` is `tied` where the interval of the change includes 0 (or, of several comparisons shown together, where
    Holm's adjusted p-value is 0.05 or more), `not-ranked` where there is no interval. It says which side is higher, not
    which is better.
    """

    left: Exact
    right: Exact
    change: Exact
    interval: Interval | NoInterval
    p_value: Probability | None
    p_adjusted: Probability | None = None
    standing: Standing
    tasks: Count
    cells: Count


class NoChange(Strict):
    """A change that is not given, and why."""

    change: None
    reason: Text


class Changes(Strict):
    benign_utility: Change | NoChange
    utility_under_attack: Change | NoChange
    utility_drop: Change | NoChange
    attack_success_rate: Change | NoChange


class FlippedCell(Strict):
    task: Identifier
    injection: Identifier | None
    epoch: Ordinal
    flip: Flip


class SideFlips(Strict):
    """Same cell, same epoch number, both outcomes known: succeeded on both sides, on one only, on neither.

    `cells` holds the first flips in canonical order, at most 100.
    """

    both: Count
    left_only: Count
    right_only: Count
    neither: Count
    cells: tuple[FlippedCell, ...]


class FlipTables(Strict):
    utility_under_attack: SideFlips
    benign_utility: SideFlips


class ConditionedChange(Strict):
    """A conditional number on both sides: of one system only, before and after a defense."""

    left: Exact
    right: Exact
    change: Exact
    interval: Interval | NoInterval
    caution: Text | None


class Conditioned(Strict):
    on_clean_success: ConditionedChange | NoChange
    on_delivery: ConditionedChange | NoChange


class Stratum(Strict):
    """Cells that one group has in common, or has on one side only. A rate is null where its weight is 0."""

    group: Identifier
    cells: Literal["common", "left-only", "right-only", "all"]
    left_weight: Exact
    right_weight: Exact
    left_rate: Exact | None
    right_rate: Exact | None


class Decomposition(Strict):
    """Kitagawa's split of a change in a headline number: total = within + mix, exactly."""

    total: Exact
    within: Exact
    mix: Exact
    strata: tuple[Stratum, ...]


class Decompositions(Strict):
    benign_utility: Decomposition | NoChange
    utility_under_attack: Decomposition | NoChange
    utility_drop: Decomposition | NoChange
    attack_success_rate: Decomposition | NoChange


class Comparison(Document):
    """Two certified pairs compared. `differs` names what the two sides differ in, beside their outcomes."""

    title: ClassVar[str] = "comparison"

    schema_: Literal["pairmark/comparison/v1"] = Field(alias="schema")
    left: ComparedSide
    right: ComparedSide
    differs: tuple[FieldDifference, ...]
    cautions: tuple[Text, ...]
    mix: Mix
    changes: Changes
    flips: FlipTables | None
    conditioned: Conditioned
    decomposition: Decompositions | None


class ComparisonSet(Document):
    """One pair against several others; p-values adjusted by Holm over the pairs, for each number apart."""

    title: ClassVar[str] = "comparison-set"

    schema_: Literal["pairmark/comparison-set/v1"] = Field(alias="schema")
    adjustment: Literal["holm"]
    comparisons: Annotated[tuple[Comparison, ...], Field(min_length=2)]

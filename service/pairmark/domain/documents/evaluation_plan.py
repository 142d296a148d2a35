"""Planning: what a person asks (`PlanRequest`) and what an evaluation of that size can show and costs (`EvaluationPlan`)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from pairmark.domain.documents.base import Count, Digest, Document, Identifier, Ordinal, Strict, Text
from pairmark.domain.documents.exact import Exact
from pairmark.domain.documents.metric_values import Decimal6

Rate = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(ge=1e-3, le=1e4)]
NotNegative = Annotated[float, Field(ge=0, le=1e9)]
Component = Annotated[float, Field(ge=0, le=1)]
"""An outcome is 0 or 1, so that no variance of it is above 1/4."""
LEAST_SPREAD = 1e-12
Target = Annotated[float, Field(ge=1e-4, le=1)]
Size = Annotated[int, Field(ge=1, le=10_000_000)]
Times = Annotated[int, Field(ge=0, le=100_000)]


Factor = Literal["tasks", "injections", "tasks+injections", "attacked_epochs"]
"""Of `tasks+injections` the size is that of tasks; injections grow by as much."""


class Span(Strict):
    """From low to high."""

    low: NotNegative
    high: NotNegative

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"expected low up to high, found {self.low} to {self.high}")
        return self


class ComponentsAsked(Strict):
    """Variance components of one attacked episode's outcome, where they are known from elsewhere."""

    task: Component
    injection: Component
    interaction: Component
    attacked_rerun: Component

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.task + self.injection + self.interaction + self.attacked_rerun < LEAST_SPREAD:
            raise ValueError(f"expected some component above 0, and {LEAST_SPREAD} or more in all, found less")
        return self


class PlanRequest(Document):
    """What to plan. Sizes come from a suite, from a pilot's suite, or are given; given ones win.

    `clean_rate` is the share of tasks done without an attack, `survival` the share of those still done under it; without
    a clean rate, `survival` is the utility under attack of all tasks. A pilot fills in what is not given. `deff` is how
    many times the variance of as many independent tasks the rate has. `difference` is what has to be found between two
    systems, `discordance` the share of tasks on which they differ. Calls are per episode.
    """

    title: ClassVar[str] = "plan-request"

    suite: Identifier | None = None
    pilot: Identifier | None = None
    tasks: Size | None = None
    injections: Size | None = None
    cells: Size | None = None
    clean_rate: Rate | None = None
    survival: Rate | None = None
    deff: Positive | None = None
    components: ComponentsAsked | None = None
    benign_epochs: Annotated[int, Field(ge=1, le=100_000)] = 1
    attacked_epochs: Annotated[int, Field(ge=1, le=100_000)] = 1
    baseline_epochs: Times = 1
    half_width: Annotated[float, Field(ge=1e-4, lt=1)] | None = None
    difference: Target | None = None
    discordance: Rate | None = None
    power: Annotated[float, Field(ge=0.5, lt=1)] = 0.8
    calls_per_episode: Span = Span(low=5, high=15)
    seconds_per_call: Span | None = None
    price_per_call: Span | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.difference is not None and self.discordance is not None and self.difference > self.discordance:
            raise ValueError(
                f"expected a difference of at most the discordance, found difference {self.difference} and discordance"
                f" {self.discordance}: tasks that do not differ cannot add to a difference"
            )
        return self


class PlanBasis(Strict):
    """What the plan reckons with, and where each came from."""

    suite: Digest | None
    pilot: Identifier | None
    tasks: Ordinal
    injections: Ordinal | None
    cells: Ordinal | None
    clean_rate: Exact | None
    survival: Exact
    deff: Decimal6
    benign_epochs: Ordinal
    attacked_epochs: Ordinal
    baseline_epochs: Count


class Precision(Strict):
    """Half-width of a 95 % interval around a rate, for so many independent tasks."""

    rate: Exact
    tasks: Ordinal
    half_width: Decimal6


class Detectable(Strict):
    """Smallest difference found with the asked power. `paired` is null where none can be so large."""

    tasks: Ordinal
    discordance: Decimal6
    paired: Decimal6 | None
    unpaired: Decimal6


class TasksNeeded(Strict):
    """Tasks for a target. `counted` are those that the number rests on, `suite` all that the suite must then have."""

    target: Decimal6
    discordance: Decimal6 | None
    counted: Ordinal
    suite: Ordinal


class FactorNeeded(Strict):
    """How much of one factor, the others unchanged, gives the asked half-width; null with the reason where none does."""

    factor: Factor
    size: Ordinal | None
    reason: Text | None


class Halving(Strict):
    """What halves the half-width: so many `times` the factor, or the reason why none does or none is known."""

    factor: Factor
    times: Decimal6 | None
    size: Ordinal | None
    half_width_at_four_times: Decimal6 | None
    reason: Text | None


class CostRange(Strict):
    low: Decimal6
    high: Decimal6


class NoRange(Strict):
    reason: Text


class Effort(Strict):
    """Of a pair with its baseline. Hours are one call after the other."""

    episodes: Count
    model_calls: CostRange
    hours: CostRange | NoRange
    cost: CostRange | NoRange


class EvaluationPlan(Document):
    """What an evaluation of this size shows, what a target needs, and what it costs. Nothing here is a measurement."""

    title: ClassVar[str] = "evaluation-plan"

    schema_: Literal["pairmark/evaluation-plan/v1"] = Field(alias="schema")
    basis: PlanBasis
    clean_tasks: Count | None
    utility: Precision
    benign_utility: Precision | None
    design_half_width: Decimal6 | None
    detectable: tuple[Detectable, ...]
    for_half_width: TasksNeeded | None
    for_half_width_by_factor: tuple[FactorNeeded, ...]
    for_halving: TasksNeeded | None
    for_difference: tuple[TasksNeeded, ...]
    power: Decimal6 | None
    halving: tuple[Halving, ...]
    effort: Effort | NoRange
    effort_for_halving: Effort | NoRange
    assumptions: tuple[Text, ...]

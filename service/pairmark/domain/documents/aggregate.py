"""Aggregate (`pairmark/aggregate/v1`): counts whose episodes nobody has. Kept for the record; never certified."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from pairmark.domain.documents.base import Count, Digest, Document, Identifier, ShareFraction, Strict, Text
from pairmark.domain.documents.run import Attack, Harness, System
from pairmark.domain.documents.suite import Weighting


class AggregateSuite(Strict):
    """`digest` is null where the exact content of the cells is not known."""

    name: Identifier
    digest: Digest | None


class ArmAggregate(Strict):
    """Episodes planned (null: unknown), assessed, and successful among the assessed."""

    planned: Count | None
    assessed: Count
    utility: Count

    @model_validator(mode="after")
    def _within(self) -> Self:
        if self.utility > self.assessed:
            raise ValueError(f"expected no more successes than the {self.assessed} assessed, found {self.utility}")
        if self.planned is not None and self.assessed > self.planned:
            raise ValueError(f"expected no more assessed than the {self.planned} planned, found {self.assessed}")
        return self


class AttackedAggregate(ArmAggregate):
    """`attack_success` counts those of `attack_success_known`; both null where it was not reported."""

    attack_success_known: Count | None
    attack_success: Count | None

    @model_validator(mode="after")
    def _known_with_successes(self) -> Self:
        known, found = self.attack_success_known, self.attack_success
        if (known is None) != (found is None):
            raise ValueError("expected attack_success and attack_success_known both or neither, found one")
        if known is not None and found is not None and found > known:
            raise ValueError(f"expected no more attack successes than the {known} known, found {found}")
        return self


class AggregateCounts(Strict):
    benign: ArmAggregate
    attacked: AttackedAggregate


class AggregateFlips(Strict):
    """Pairs of a benign and an attacked outcome, as the source pairs them."""

    kept: Count
    lost: Count
    gained: Count
    neither: Count


class AggregateRates(Strict):
    """Rates that whoever saw the episodes worked out, all under one weighting; null where undefined."""

    weighting: Weighting
    benign_utility: ShareFraction | None
    utility_under_attack: ShareFraction | None
    attack_success_rate: ShareFraction | None


class Clusters(Strict):
    """How many independent units stand behind the counts, and what they are."""

    count: Count
    unit: Identifier


class Reason(Strict):
    """Why there is no certificate: a rule's id or a word of our own, and what was found."""

    code: Identifier
    detail: Text


class AggregateSource(Strict):
    """Where the counts come from."""

    title: Text
    reference: Text | None
    license: Text | None


class Aggregate(Document):
    """Counts of a pair without its episodes. `name` is what the source calls it. Null in `system` is unrecorded, as in a run."""

    title: ClassVar[str] = "aggregate"

    schema_: Literal["pairmark/aggregate/v1"] = Field(alias="schema")
    name: Identifier
    suite: AggregateSuite
    attack: Attack | None
    system: System
    harness: Harness
    counts: AggregateCounts
    rates: AggregateRates | None = None
    flips: AggregateFlips | None = None
    clusters: Clusters | None = None
    reasons: tuple[Reason, ...]
    source: AggregateSource

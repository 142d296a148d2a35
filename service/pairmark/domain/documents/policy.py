"""Policy (`pairmark/policy/v1`): a named, versioned set of rules and thresholds; says what "certified" means."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from pairmark.domain.documents.base import (
    DISTINCT,
    KEBAB,
    Document,
    Identifier,
    JsonValue,
    Ordinal,
    Strict,
    Text,
    refuse_repeated,
)

RuleId = Annotated[str, StringConstraints(pattern=KEBAB, max_length=64)]


class PolicyRule(Strict):
    id: RuleId
    version: Ordinal
    params: dict[str, JsonValue]


class Policy(Document):
    """An empty rule list is well-formed, and refuses everything."""

    title: ClassVar[str] = "policy"

    schema_: Literal["pairmark/policy/v1"] = Field(alias="schema")
    name: Identifier
    version: Identifier
    description: Text | None = None
    rules: Annotated[tuple[PolicyRule, ...], DISTINCT]

    @model_validator(mode="after")
    def _rules_once(self) -> Self:
        refuse_repeated((rule.id for rule in self.rules), "rule id")
        return self

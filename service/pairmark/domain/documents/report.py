"""Report (`pairmark/report/v1`): what a check or a certification returns. No floats: exact fractions and decimal strings."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator
from typing_extensions import TypeAliasType

from pairmark.domain.documents.base import KEBAB, Count, Digest, Document, Identifier, SafeInteger, Strict, Text
from pairmark.domain.documents.metric_values import Metrics
from pairmark.domain.documents.policy import RuleId

Outcome = Literal["passed", "failed", "held", "not_applicable", "crashed"]
Verdict = Literal["certified", "quarantined", "refused"]
Flag = Annotated[str, StringConstraints(pattern=KEBAB, max_length=64)]

EvidenceValue = TypeAliasType(
    "EvidenceValue", "bool | SafeInteger | str | tuple[EvidenceValue, ...] | dict[str, EvidenceValue] | None"
)


class Finding(Strict):
    """What one rule says: expected, found, where; and the counts and first offending cells behind it."""

    rule: RuleId
    outcome: Outcome
    message: Text
    evidence: dict[str, EvidenceValue]


class PolicyReference(Strict):
    name: Identifier
    version: Identifier
    digest: Digest


class ReportSuite(Strict):
    name: Identifier
    digest: Digest


class ReportRuns(Strict):
    """Digests of the run documents; a baseline that is the attacked run itself has its digest."""

    benign: Digest
    attacked: Digest
    baseline: Digest | None


class ArmCounts(Strict):
    """Counts of cells × epochs. `present`, `assessed`, `aborted`, `blocked` are of planned ones."""

    planned: Count
    present: Count
    assessed: Count
    aborted: Count
    blocked: Count


class ReportCounts(Strict):
    benign: ArmCounts
    attacked: ArmCounts
    baseline: ArmCounts | None


class Report(Document):
    """A verdict with its findings. Numbers are released only with a certified verdict: otherwise `metrics` is null."""

    title: ClassVar[str] = "report"

    schema_: Literal["pairmark/report/v1"] = Field(alias="schema")
    verdict: Verdict
    flags: tuple[Flag, ...]
    policy: PolicyReference
    suite: ReportSuite
    runs: ReportRuns
    findings: tuple[Finding, ...]
    counts: ReportCounts
    metrics: Metrics | None

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"verdict": {"const": "certified"}}},
            "then": {"properties": {"metrics": {"type": "object"}}},
            "else": {"properties": {"metrics": {"type": "null"}}},
        }
    )

    @model_validator(mode="after")
    def _numbers_only_when_certified(self) -> Self:
        if (self.metrics is not None) != (self.verdict == "certified"):
            raise ValueError("expected metrics with a certified verdict and only then")
        return self


__all__ = [
    "ArmCounts",
    "EvidenceValue",
    "Finding",
    "Flag",
    "Metrics",
    "Outcome",
    "PolicyReference",
    "Report",
    "ReportCounts",
    "ReportRuns",
    "ReportSuite",
    "Verdict",
]

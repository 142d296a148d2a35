"""Judging synthetic worlds under a policy, for tests of rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.policy import Policy
from pairmark.domain.documents.report import Finding, Verdict
from pairmark.domain.evidence import Arm
from pairmark.domain.quality import ExpectationResult, QualityResult
from pairmark.domain.verdict import verdict_of
from pairmark.domain.world import World
from pairmark.resources import data_folder
from pairmark.rules.base import Context, Disproof
from pairmark.rules.engine import judge_all
from pairmark.rules.registry import installed_rules


def rows_gate(arm: Arm) -> QualityResult:
    """A quality gate that expects nothing but rows: what the real one finds has tests of its own."""
    rows = arm.ledger.height
    rows_present = ExpectationResult(
        code="rows-present", expectation="rows", arguments={}, success=rows > 0, rows=rows, unexpected=0
    )
    return QualityResult(
        suite="rows/1", digest="sha256:" + "0" * 64, rows=rows, success=rows > 0, expectations=(rows_present,)
    )


@dataclass(frozen=True)
class Judged:
    """What a policy says of a world."""

    verdict: Verdict
    findings: Mapping[str, Finding]
    flags: tuple[str, ...]

    @property
    def not_passed(self) -> set[str]:
        return {rule for rule, finding in self.findings.items() if finding.outcome != "passed"}

    def outcome(self, rule: str) -> str:
        return self.findings[rule].outcome

    def message(self, rule: str) -> str:
        return self.findings[rule].message

    def evidence(self, rule: str) -> Any:
        return self.findings[rule].evidence


@cache
def policy(name: str = "standard-1") -> Policy:
    """A shipped policy."""
    path = data_folder("manifests") / "policies" / f"{name}.json"
    return read_document(Policy, path.read_bytes(), file=str(path))[0]


def policy_with(params: Mapping[str, Mapping[str, Any]]) -> Policy:
    """`standard/1` with other parameters."""
    value = policy().model_dump(mode="json", by_alias=True)
    for rule in value["rules"]:
        rule["params"] |= params.get(rule["id"], {})
    return Policy.model_validate_json(canonical_bytes(value))


def policy_without(*rules: str) -> Policy:
    """`standard/1` less some rules."""
    full = policy()
    return full.model_copy(update={"rules": tuple(rule for rule in full.rules if rule.id not in rules)})


def judge(world: World, under: Policy | None = None, disproof: Disproof | None = None) -> Judged:
    """Every rule of a policy (`standard/1` unless given) over a world."""
    context = Context(world.experiment(), rows_gate, disproof=disproof)
    findings, flags = judge_all(policy() if under is None else under, context)
    return Judged(verdict_of(findings), {finding.rule: finding for finding in findings}, flags)


@dataclass(frozen=True)
class Found:
    """What one rule says of a world."""

    outcome: str
    message: str
    evidence: Any
    flags: tuple[str, ...]


def judge_one(rule_id: str, world: World, **params: Any) -> Found:
    """One rule over a world, with the parameters of `standard/1` unless given."""
    rule = installed_rules()[(rule_id, 1)]
    standard = next(entry.params for entry in policy().rules if entry.id == rule_id)
    given = rule.params.model_validate({**standard, **params})
    judgement = rule.judge(Context(world.experiment(), rows_gate), given)
    return Found(judgement.outcome, judgement.message, judgement.evidence, judgement.flags)


def passes(rule_id: str, world: World, **params: Any) -> bool:
    return judge_one(rule_id, world, **params).outcome == "passed"


def fails(rule_id: str, world: World, **params: Any) -> bool:
    return judge_one(rule_id, world, **params).outcome == "failed"

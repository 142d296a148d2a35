"""Runs every rule of a policy; none is short-circuited, and a crash in one is a finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from polars.exceptions import PanicException

from pairmark.domain.documents.policy import Policy
from pairmark.domain.documents.report import EvidenceValue, Finding
from pairmark.domain.errors import one_line
from pairmark.rules.base import Context, Judgement
from pairmark.rules.registry import rule_of


def judge_all(
    policy: Policy, context: Context, before: Callable[[int, int], None] | None = None
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Findings in the policy's order, and the flags of rules that passed, sorted.

    `before` is told before each rule how many are done, of how many; what it raises ends the judging.
    """
    found: dict[str, Finding] = {}
    flags: set[str] = set()
    entries = sorted(policy.rules, key=lambda entry: rule_of(entry).last)
    for done, entry in enumerate(entries):
        if before is not None:
            before(done, len(entries))
        rule = rule_of(entry)
        seen = replace(context, findings=dict(found) if rule.last else {})
        try:
            judgement = rule.judge(seen, rule.params.model_validate(entry.params))
            finding = _finding(entry.id, judgement)
        except (Exception, PanicException) as crash:  # noqa: BLE001 - a rule that cannot finish refuses
            finding = Finding(
                rule=entry.id,
                outcome="crashed",
                message=one_line(
                    f"expected the rule to finish, found {type(crash).__name__}: {crash}; report this as a bug of Pairmark"
                ),
                evidence={},
            )
        else:
            if finding.outcome == "passed":
                flags.update(judgement.flags)
        found[entry.id] = finding
    return tuple(found[entry.id] for entry in policy.rules), tuple(sorted(flags))


def _finding(rule_id: str, judgement: Judgement) -> Finding:
    return Finding(
        rule=rule_id,
        outcome=judgement.outcome,
        message=judgement.message,
        evidence={key: _frozen(value) for key, value in judgement.evidence.items()},
    )


def _frozen(value: EvidenceValue) -> EvidenceValue:
    """Lists as tuples, so that strict models take them."""
    if isinstance(value, dict):
        return {key: _frozen(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_frozen(child) for child in value)
    return value

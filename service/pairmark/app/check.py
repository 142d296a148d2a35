"""Check a pair: run every rule of a policy, fold the verdict, and release numbers only if it is certified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pairmark.app.stages import At, unwatched
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.counts import arm_counts
from pairmark.domain.documents.policy import Policy
from pairmark.domain.documents.report import Report
from pairmark.domain.evidence import Experiment
from pairmark.domain.verdict import verdict_of
from pairmark.metrics.registry import metrics_block
from pairmark.rules.base import Context, Disproof, QualityGate
from pairmark.rules.engine import judge_all


@dataclass(frozen=True)
class CheckedPair:
    """A report, its RFC 8785 bytes, and the JSON value they were written from."""

    report: Report
    content: bytes
    value: dict[str, Any]


def check(
    experiment: Experiment,
    policy: Policy,
    policy_digest: str,
    quality: QualityGate,
    disproof: Disproof | None = None,
    at: At = unwatched,
) -> CheckedPair:
    """The verdict on a pair. Equal input gives equal bytes, offline and on the service. `at` is told of each step."""
    findings, flags = judge_all(policy, Context(experiment, quality, disproof=disproof), lambda done, steps: at("rules", done, steps))
    verdict = verdict_of(findings)
    metrics: dict[str, Any] | None = None
    if verdict == "certified":
        at("numbers", 0, 1)
        metrics, more = metrics_block(experiment.pairing)
        flags = tuple(sorted({*flags, *more}))
    value = {
        "schema": "pairmark/report/v1",
        "verdict": verdict,
        "flags": list(flags),
        "policy": {"name": policy.name, "version": policy.version, "digest": policy_digest},
        "suite": {"name": experiment.suite.suite, "digest": experiment.suite_digest},
        "runs": {
            "benign": experiment.benign.run_digest,
            "attacked": experiment.attacked.run_digest,
            "baseline": None if experiment.baseline is None else experiment.baseline.run_digest,
        },
        "findings": [finding.model_dump(mode="json") for finding in findings],
        "counts": _counts(experiment),
        "metrics": metrics,
    }
    content = canonical_bytes(value)
    return CheckedPair(Report.model_validate_json(content), content, value)


def _counts(experiment: Experiment) -> dict[str, Any]:
    baseline = experiment.baseline
    return {
        "benign": arm_counts(experiment, experiment.benign).model_dump(),
        "attacked": arm_counts(experiment, experiment.attacked).model_dump(),
        "baseline": None if baseline is None else arm_counts(experiment, baseline).model_dump(),
    }


@dataclass(frozen=True)
class Tally:
    """The figures of any pair, certified or not, for the person who has to find the fault; never stored or signed."""

    checked: CheckedPair
    metrics: dict[str, Any]
    flags: tuple[str, ...]


def tally(experiment: Experiment, policy: Policy, policy_digest: str, quality: QualityGate) -> Tally:
    """The figures of a pair whatever its verdict."""
    metrics, flags = metrics_block(experiment.pairing)
    return Tally(check(experiment, policy, policy_digest, quality), metrics, flags)

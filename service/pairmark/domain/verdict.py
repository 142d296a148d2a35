"""Folding findings into a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from pairmark.domain.documents.report import Finding, Verdict


def verdict_of(findings: Sequence[Finding]) -> Verdict:
    """Any failed or crashed: refused. Else any held: quarantined. Nothing passed (no rule at all): refused. Else certified."""
    outcomes = {finding.outcome for finding in findings}
    if outcomes & {"failed", "crashed"}:
        return "refused"
    if "held" in outcomes:
        return "quarantined"
    return "certified" if "passed" in outcomes else "refused"

"""The certificate document of a certified pair. Not signed yet: a signature will wrap these bytes, not change them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pairmark.app.ports import Certification, Seal
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.certificate import Certificate
from pairmark.domain.documents.report import Report
from pairmark.domain.evidence import Role


def certificate_of(
    certification: Certification, certificate_id: str, issued_at: str, report: Report, runs: Mapping[Role, tuple[str, Seal]]
) -> dict[str, Any]:
    """The document's value; `runs` gives run id and seal of each given arm."""

    def run(role: Role) -> dict[str, Any] | None:
        if role not in runs:
            return None
        run_id, seal = runs[role]
        return {"id": run_id, "digest": seal.document, "ledger": {"count": seal.count, "digest": seal.ledger}}

    value = {
        "schema": "pairmark/certificate/v1",
        "id": certificate_id,
        "issued_at": issued_at,
        "certification": certification.id,
        "report": certification.report,
        "suite": {"name": report.suite.name, "digest": report.suite.digest, "manifest": certification.manifest},
        "policy": {"name": report.policy.name, "version": report.policy.version, "digest": report.policy.digest},
        "runs": {"benign": run("benign"), "attacked": run("attacked"), "baseline": run("baseline")},
        "disproof": certification.disproof,
        "flags": list(report.flags),
    }
    Certificate.model_validate_json(canonical_bytes(value))
    return value

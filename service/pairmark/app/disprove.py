"""Record a reviewer's evidence against a held `sign-plausible`; the pair is judged again with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pairmark.app.certify import Claim
from pairmark.app.ports import Tables
from pairmark.app.read_certification import certification_of_id
from pairmark.app.stored import stored_document, understood
from pairmark.domain.canonical import canonical_bytes, digest_of
from pairmark.domain.documents.report import Report
from pairmark.domain.errors import Conflict


def disproving_claim(tables: Tables, certification_id: str, value: dict[str, Any]) -> Claim:
    """The claim of a certification with the disproof `value`, a valid disproof record, beside it.

    Raises:
        NotFound: no such certification.
        Conflict: its `sign-plausible` is not held, so there is nothing to disprove.
    """
    certification = certification_of_id(tables, certification_id)
    report, _ = understood(Report, stored_document(tables, certification.report), certification.report)
    outcome = next((finding.outcome for finding in report.findings if finding.rule == "sign-plausible"), None)
    if outcome != "held":
        raise Conflict(
            "nothing-held", f"expected a certification whose rule sign-plausible is held, found it {outcome or 'not in the policy'}",
            "a disproof answers only a held sign-plausible; other findings need other runs",
        )
    digest = digest_of(value)
    claim = Claim(
        certification.benign, certification.attacked, certification.baseline, certification.policy, certification.manifest
    )
    return replace(claim, disproof=digest, disproves=certification.id, contents={digest: canonical_bytes(value)})

"""The same measurement again: the same benign and attacked ledgers, whatever else of their runs' documents is another.

A number that nobody vouches for any more does not come back under another serial. Where a revocation says nothing about the numbers, since a
key was stolen, the same pair may be certified again.
"""

from __future__ import annotations

from dataclasses import replace

from pairmark.app.certify import Claim, Evidence
from pairmark.app.log_records import Signing
from pairmark.app.ports import Tables
from pairmark.app.stored import Damaged
from pairmark.domain.errors import Conflict
from pairmark.provenance import dsse
from pairmark.provenance.entries import Reason, parse_entry
from pairmark.provenance.status import Standing, fold
from pairmark.provenance.trust import parse_trust

_MEASURE = "measure again: other episodes are another measurement; where only the baseline was at fault, supersede instead of revoking"

REVOKED = "measurement-revoked"
"""Code of the refusal."""

REMEDIES: dict[Reason, str] = {
    "measurement-error": _MEASURE,
    "arm-mismatch": "pair each run with the other arm of its own experiment",
    "ledger-tampering": _MEASURE,
    "suite-defect": "use a suite version without the defect",
    "checker-defect": "use a suite version without the defect",
    "policy-defect": "certify the pair under a policy without the defect",
}
"""What to do by the reasons that say that a number is wrong. The others say nothing about it."""


def refuse_revoked(tables: Tables, signing: Signing, evidence: Evidence) -> None:
    """Refuse what was revoked because it is wrong: for a defect of suite or policy over the same one, otherwise over any.

    Asked of the certificates of the organisation whose the attacked run is, and of published ones.

    Raises:
        Conflict: naming the revoked certificate.
    """
    seals = {role: seal for role, (_, seal, _) in evidence.runs.items()}
    alike = tables.certificates.revoked_alike(seals["benign"].ledger, seals["attacked"].ledger, evidence.claim.attacked)
    for one in alike:
        standing = _vouched(tables, signing, one.certificate)
        if standing is None or standing.reason not in REMEDIES:
            continue
        reason = standing.reason
        if reason in ("suite-defect", "checker-defect") and one.suite != evidence.suite_digest:
            continue
        if reason == "policy-defect" and one.policy != evidence.claim.policy:
            continue
        raise Conflict(
            REVOKED, f"expected a measurement that stands, found the benign and attacked ledgers of certificate {one.certificate},"
            f" revoked at log index {standing.index} ({reason})", REMEDIES[reason],
        )  # fmt: skip


def current(tables: Tables, signing: Signing, claim: Claim) -> Claim:
    """The claim, or that on the same pair in the place of a certificate that only a stolen key brought down."""
    while True:
        there = tables.certifications.of_subject(claim.subject)
        if there is None or there.certificate is None:
            return claim
        standing = _standing(tables, there.certificate)
        if standing is None or standing.status != "revoked":
            return claim
        if standing.reason != "key-compromise" and _vouched(tables, signing, there.certificate) is not None:
            return claim
        claim = replace(claim, instead_of=there.certificate)


def _standing(tables: Tables, certificate: str) -> Standing | None:
    return fold((record.index, parse_entry(record.entry)) for record in tables.log.about(certificate)).get(certificate)


def _vouched(tables: Tables, signing: Signing, certificate: str) -> Standing | None:
    """The standing of a revoked certificate; None where it was signed with a key that, by today's trust root, was not to sign it."""
    standing = _standing(tables, certificate)
    envelope = next((one.envelope for one in tables.log.about(certificate) if standing is not None and one.index == standing.index), None)
    if standing is None or envelope is None:
        raise Damaged(f"expected the revocation of {certificate} in the log, found none; restore the database from a backup")
    trust = parse_trust(signing.trust()).current
    signers = {keyid for keyid, _ in dsse.parse_envelope(envelope).signatures}
    return standing if len(signers & set(trust.keys_of("revoker", standing.index))) >= trust.role("revoker").threshold else None

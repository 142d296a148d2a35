"""A Simple Verification Result beside a certificate, for policy engines that know nothing of Pairmark.

It follows from the certificate and is checked against it byte for byte. Source: github.com/in-toto/attestation,
spec/predicates/svr.md, version 0.1.
"""

from __future__ import annotations

from pairmark.domain.canonical import DIGEST_PREFIX, canonical_bytes
from pairmark.provenance.in_toto import statement_value
from pairmark.provenance.statement import Statement

SVR_TYPE = "https://in-toto.io/attestation/svr/v0.1"


def svr_bytes(statement: Statement) -> bytes:
    """The payload to sign: the certificate's subjects, and one property for each rule that passed."""
    predicate = statement.predicate
    policy = predicate.policy
    named = f"{policy.name}_{policy.version}"
    passed = [f"PAIRMARK_RULE_{_word(finding.rule)}" for finding in policy.findings if finding.outcome == "passed"]
    value = {
        "verifier": {
            "id": f"urn:pairmark:certifier:{predicate.certifier.version}",
            "policy": {
                "uri": f"urn:pairmark:policy:{policy.name}:{policy.version}",
                "digest": {"sha256": policy.digest.removeprefix(DIGEST_PREFIX)},
            },
        },
        "timeCreated": predicate.issued_at,
        "properties": ["PAIRMARK_CERTIFIED", f"PAIRMARK_POLICY_{_word(named)}", *passed],
    }
    return canonical_bytes(statement_value(statement.value["subject"], SVR_TYPE, value))


def _word(text: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in text).upper()

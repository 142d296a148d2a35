"""Release a certified pair: statement, signature and log entry, in the transaction that stores the verdict.

The certifier signs inside that transaction, since the statement counts what the log holds at that very moment. A signature whose
transaction does not commit was never shown to anybody, and no receipt ever covers it: see docs/adr/0011.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pairmark
from pairmark.app.certificate import certificate_of
from pairmark.app.check import CheckedPair
from pairmark.app.history_entry import history_entry
from pairmark.app.log_records import Release, Signing
from pairmark.app.log_writes import count_announced
from pairmark.app.ports import Tables
from pairmark.app.records import Certificate, Certification, Seal
from pairmark.app.stored import stored_document
from pairmark.domain.canonical import canonical_bytes, digest_of, digest_of_bytes
from pairmark.domain.errors import Conflict
from pairmark.domain.evidence import Experiment, Role
from pairmark.domain.strict_json import parse
from pairmark.provenance.entries import DisprovedEntry, Released, entry_bytes, parse_entry
from pairmark.provenance.statement import ArmClaim, certificate_bytes, read_statement
from pairmark.provenance.svr import svr_bytes


def release(
    tables: Tables,
    signing: Signing,
    certification: Certification,
    experiment: Experiment,
    checked: CheckedPair,
    runs: Mapping[Role, tuple[str, Seal]],
    rows: Mapping[Role, str],
    certificate_id: str,
) -> None:
    """Release `certification`, stored in this transaction, as the certificate `certificate_id`.

    Args:
        tables: of the transaction.
        signing: the certifier's key.
        certification: with the verdict `certified`.
        experiment: the pair that was judged.
        checked: its report.
        runs: run id and seal of each given arm.
        rows: root over each given arm's salted rows.
        certificate_id: the new serial.

    Raises:
        Conflict: a verdict that is not certified, or a disproof that is not in the log.
    """
    if certification.verdict != "certified" or checked.report.verdict != "certified":
        raise Conflict(
            "not-certified", f"expected a certified pair to release, found it {certification.verdict}", "only certified pairs are released"
        )
    _require_logged_disproof(tables, certification)
    at = certification.created_at
    value = certificate_of(certification, certificate_id, at, checked.report, runs)
    document = digest_of(value)
    tables.documents.put(document, canonical_bytes(value))
    tables.certificates.add(Certificate(certificate_id, certification.id, document, at))
    tables.history.add(history_entry(experiment, checked, certification, certificate_id, at))
    index = tables.log.next_index()
    payload = _payload(tables, certification, checked, runs, rows, certificate_id, index)
    envelope = signing.sign_certificate(payload, index).content()
    svr = signing.sign_certificate(svr_bytes(read_statement(payload)), index).content()
    body = Released(certificate=certificate_id, envelope=digest_of_bytes(envelope), suite=experiment.suite_digest, at=at)
    tables.log.append(entry_bytes(body), envelope, (certificate_id,))
    tables.log.release(Release(certificate_id, index, svr))


def _payload(
    tables: Tables,
    certification: Certification,
    checked: CheckedPair,
    runs: Mapping[Role, tuple[str, Seal]],
    rows: Mapping[Role, str],
    certificate_id: str,
    index: int,
) -> bytes:
    def document(digest: str) -> dict[str, Any]:
        value = parse(stored_document(tables, digest))
        if not isinstance(value, dict):
            raise TypeError(f"expected an object as document {digest}")
        return value

    manifest = document(certification.manifest)
    labels = [f"{label.name}@{label.version}" for label in tables.suites.of_digest(checked.report.suite.digest)]
    arms = {}
    for role, (run_id, seal) in runs.items():
        run = document(seal.document)
        arms[role] = ArmClaim(run_id, run, seal.ledger, seal.count, rows[role], count_announced(tables, run))
    disproof = None
    if certification.disproof is not None and certification.disproves is not None:
        disproof = (certification.disproves, document(certification.disproof))
    return certificate_bytes(
        serial=certificate_id, issued_at=certification.created_at, certification=certification.id, version=pairmark.__version__,
        commit=None, manifest=manifest, labels=labels, report=checked.value, arms=arms, up_to=index, disproof=disproof,
    )


def _require_logged_disproof(tables: Tables, certification: Certification) -> None:
    if certification.disproof is None:
        return
    logged = () if certification.disproves is None else tables.log.about(certification.disproves)
    entries = (parse_entry(record.entry) for record in logged)
    if not any(isinstance(entry, DisprovedEntry) and entry.body.evidence == certification.disproof for entry in entries):
        raise Conflict(
            "disproof-not-logged", f"expected the disproof {certification.disproof} in the log before its release, found none",
            "record it: pairmark disprove (POST /v1/certifications/{id}/disproof)",
        )

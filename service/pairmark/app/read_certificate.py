"""Read a certificate with the report it releases."""

from __future__ import annotations

from dataclasses import dataclass

from pairmark.app.open_episodes import require_open_episodes
from pairmark.app.ports import Certificate, Tables
from pairmark.app.read_certification import certification_of_id
from pairmark.app.stored import Damaged, stored_document
from pairmark.domain.documents.report import Report
from pairmark.domain.errors import NotFound, shown


@dataclass(frozen=True)
class CertificateRead:
    """The certificate document's bytes and the report's."""

    certificate: Certificate
    content: bytes
    report: bytes


def certificate_of_id(tables: Tables, certificate_id: str) -> Certificate:
    """The certificate with this id.

    Raises:
        NotFound: there is none.
    """
    found = tables.certificates.of_id(certificate_id)
    if found is None:
        raise NotFound(
            "unknown-certificate", f"expected the id of a certificate, found {shown(certificate_id)}",
            "only certified pairs have one; pairmark history (GET /v1/history) lists them",
        )
    return found


def read_certificate(tables: Tables, certificate_id: str) -> CertificateRead:
    """The certificate with this id, and its report.

    Raises:
        NotFound: there is none.
    """
    found = certificate_of_id(tables, certificate_id)
    report = certification_of_id(tables, found.certification).report
    return CertificateRead(found, stored_document(tables, found.document), stored_document(tables, report))


def flips_digest(tables: Tables, certificate_id: str) -> str:
    """Digest under which the full list of a certificate's flips is kept.

    Raises:
        NotFound: no such certificate.
        NotPermitted: it was published without its episodes, whose outcomes the list shows.
    """
    found = certification_of_id(tables, certificate_of_id(tables, certificate_id).certification)
    for run_id in (found.benign, found.attacked):
        require_open_episodes(tables, run_id)
    report = Report.model_validate_json(read_certificate(tables, certificate_id).report)
    if report.metrics is None:
        raise Damaged(f"expected numbers in the report of certificate {certificate_id}, found none; restore it from a backup")
    return report.metrics.flips.cells_digest

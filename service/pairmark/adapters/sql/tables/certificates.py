"""Released pairs."""

from __future__ import annotations

from sqlmodel import Session

from pairmark.adapters.sql.models import CertificateRow
from pairmark.app.paging import is_plain
from pairmark.app.ports import Certificate


class SqlCertificates:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, certificate: Certificate) -> None:
        self._session.add(
            CertificateRow(
                id=certificate.id, certification=certificate.certification, document=certificate.document,
                created_at=certificate.created_at,
            )
        )
        self._session.flush()

    def of_id(self, certificate_id: str) -> Certificate | None:
        row = self._session.get(CertificateRow, certificate_id) if is_plain(certificate_id) else None
        return None if row is None else Certificate(row.id, row.certification, row.document, row.created_at)

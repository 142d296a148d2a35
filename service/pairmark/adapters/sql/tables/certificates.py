"""Released pairs."""

from __future__ import annotations

from sqlmodel import Session, col, select

from pairmark.adapters.sql.models import CertificateRow
from pairmark.adapters.sql.tables.seen import certificate_seen
from pairmark.app.paging import is_plain
from pairmark.app.ports import Certificate
from pairmark.domain.access import Viewer


class SqlCertificates:
    def __init__(self, session: Session, viewer: Viewer) -> None:
        self._session = session
        self._seen = certificate_seen(viewer, col(CertificateRow.id))

    def add(self, certificate: Certificate) -> None:
        self._session.add(
            CertificateRow(
                id=certificate.id, certification=certificate.certification, document=certificate.document,
                created_at=certificate.created_at,
            )
        )
        self._session.flush()

    def of_id(self, certificate_id: str) -> Certificate | None:
        if not is_plain(certificate_id):
            return None
        row = self._session.exec(select(CertificateRow).where(CertificateRow.id == certificate_id, self._seen)).first()
        return None if row is None else Certificate(row.id, row.certification, row.document, row.created_at)

"""Released pairs."""

from __future__ import annotations

from sqlalchemy import exists, or_
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from pairmark.adapters.sql.models import CertificateRow, CertificationRow, HistoryRow, SealRow
from pairmark.adapters.sql.people_models import PublicationRow
from pairmark.adapters.sql.tables.seen import certificate_seen, same_owner
from pairmark.app.paging import is_plain
from pairmark.app.ports import Certificate, RevokedAlike
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

    def revoked_alike(self, benign: str, attacked: str, run: str) -> tuple[RevokedAlike, ...]:
        """The same whoever asks, so that a worker sees what the sender sees."""
        of, in_history = col(CertificateRow.id), col(HistoryRow.id)
        first, second = aliased(SealRow), aliased(SealRow)
        published = exists(select(col(PublicationRow.certificate)).where(col(PublicationRow.certificate) == of))
        rows = self._session.execute(
            select(of, col(HistoryRow.suite), col(CertificationRow.policy))
            .join(CertificationRow, col(CertificationRow.id) == col(CertificateRow.certification))
            .join(HistoryRow, in_history == of)
            .join(first, col(first.run) == col(CertificationRow.benign))
            .join(second, col(second.run) == col(CertificationRow.attacked))
            .where(
                col(HistoryRow.status) == "revoked", col(first.ledger) == benign, col(second.ledger) == attacked,
                or_(published, same_owner(col(CertificationRow.attacked), run)),
            )
            .order_by(col(CertificateRow.created_at), of)
        )  # fmt: skip
        return tuple(RevokedAlike(certificate, suite, policy) for certificate, suite, policy in rows)

"""Verdicts."""

from __future__ import annotations

from sqlalchemy import and_, or_
from sqlmodel import Session, col, select

from pairmark.adapters.sql.models import CertificateRow, CertificationRow
from pairmark.adapters.sql.tables.seen import certification_seen
from pairmark.app.paging import is_plain
from pairmark.app.ports import Certification, ListedCertification
from pairmark.domain.access import Viewer


class SqlCertifications:
    def __init__(self, session: Session, viewer: Viewer) -> None:
        self._session = session
        self._seen = certification_seen(viewer, col(CertificationRow.id), col(CertificationRow.attacked))

    def add(self, certification: Certification) -> None:
        """Store a verdict; its certificate is stored by itself."""
        self._session.add(
            CertificationRow(
                id=certification.id, subject=certification.subject, benign=certification.benign, attacked=certification.attacked,
                baseline=certification.baseline, policy=certification.policy, manifest=certification.manifest,
                disproof=certification.disproof, disproves=certification.disproves, report=certification.report,
                verdict=certification.verdict, created_at=certification.created_at,
            )
        )
        self._session.flush()

    def of_id(self, certification_id: str) -> Certification | None:
        if not is_plain(certification_id):
            return None
        return self._found(self._session.exec(select(CertificationRow).where(CertificationRow.id == certification_id, self._seen)).first())

    def of_subject(self, subject: str) -> Certification | None:
        return self._found(self._session.exec(select(CertificationRow).where(CertificationRow.subject == subject)).first())

    def page(
        self, verdict: str | None, *, waiting: bool, run: str | None = None, after: tuple[str, str] | None, limit: int
    ) -> tuple[ListedCertification, ...]:
        row = CertificationRow
        asked = select(row).where(self._seen).order_by(col(row.created_at).desc(), col(row.id).desc()).limit(limit)
        if waiting:
            answered = select(col(row.disproves)).where(col(row.disproves).is_not(None))
            asked = asked.where(col(row.verdict) == "quarantined", col(row.id).not_in(answered))
        if verdict is not None:
            asked = asked.where(col(row.verdict) == verdict)
        if run is not None:
            asked = asked.where(or_(col(row.benign) == run, col(row.attacked) == run, col(row.baseline) == run))
        if after is not None:
            at, identifier = after
            asked = asked.where(or_(col(row.created_at) < at, and_(col(row.created_at) == at, col(row.id) < identifier)))
        rows = self._session.exec(asked).all()
        answers = select(col(row.disproves), col(row.id)).where(col(row.disproves).in_([one.id for one in rows])).order_by(col(row.id))
        by_held: dict[str | None, str] = {}
        for held, answer in self._session.execute(answers):
            by_held.setdefault(held, answer)
        found = (self._found(one) for one in rows)
        return tuple(ListedCertification(one, by_held.get(one.id)) for one in found if one is not None)

    def _found(self, row: CertificationRow | None) -> Certification | None:
        if row is None:
            return None
        certificate = self._session.exec(select(CertificateRow.id).where(CertificateRow.certification == row.id)).first()
        return Certification(
            id=row.id, subject=row.subject, benign=row.benign, attacked=row.attacked, baseline=row.baseline, policy=row.policy,
            manifest=row.manifest, disproof=row.disproof, disproves=row.disproves, report=row.report, verdict=row.verdict,
            certificate=certificate, created_at=row.created_at,
        )

"""What a search finds things by: digests of documents and ledgers, parts of names."""

from __future__ import annotations

from sqlalchemy import or_
from sqlmodel import Session, col, select
from sqlmodel.sql.expression import SelectOfScalar

from pairmark.adapters.sql.models import (
    AmendmentRow,
    CertificateRow,
    CertificationRow,
    HistoryNameRow,
    HistoryRow,
    RunRow,
    SealRow,
    SuiteRow,
)
from pairmark.adapters.sql.tables.seen import certificate_seen, certification_seen, entry_seen, run_seen
from pairmark.app.ports import SuiteLabel
from pairmark.app.search import MOST_FOUND, Found, Kind
from pairmark.domain.access import Viewer


class SqlSearch:
    def __init__(self, session: Session, viewer: Viewer) -> None:
        self._session = session
        self._viewer = viewer

    def of_digest(self, digest: str) -> tuple[Found, ...]:
        """Everything whose document, ledger or report has this digest."""
        viewer = self._viewer
        places: tuple[tuple[Kind, str, SelectOfScalar[str]], ...] = (
            ("suite", "a suite's content or manifest", select(col(SuiteRow.digest)).where(or_(col(SuiteRow.digest) == digest, col(SuiteRow.manifest) == digest))),
            ("run", "a run's ledger", select(col(SealRow.run)).where(col(SealRow.ledger) == digest, run_seen(viewer, col(SealRow.run)))),
            ("run", "a run's document", select(col(SealRow.run)).where(col(SealRow.document) == digest, run_seen(viewer, col(SealRow.run)))),
            ("run", "an announcement", select(col(RunRow.id)).where(col(RunRow.announcement) == digest, run_seen(viewer, col(RunRow.id)))),
            (
                "run", "a run's document",
                select(col(AmendmentRow.run)).where(col(AmendmentRow.document) == digest, run_seen(viewer, col(AmendmentRow.run))),
            ),
            (
                "certification", "a certification's report",
                select(col(CertificationRow.id)).where(
                    col(CertificationRow.report) == digest, certification_seen(viewer, col(CertificationRow.id), col(CertificationRow.attacked))
                ),
            ),
            (
                "certificate", "a certificate's document",
                select(col(CertificateRow.id)).where(col(CertificateRow.document) == digest, certificate_seen(viewer, col(CertificateRow.id))),
            ),
        )  # fmt: skip
        found: dict[tuple[Kind, str], Found] = {}
        for kind, what, asked in places:
            for identifier in self._session.execute(asked.limit(MOST_FOUND)).scalars():
                found.setdefault((kind, identifier), Found(kind, identifier, what))
        return tuple(found.values())

    def suites_named(self, part: str, limit: int) -> tuple[SuiteLabel, ...]:
        """Labels whose name or version contains `part`, letter case aside as far as the database knows it."""
        name, version = col(SuiteRow.name), col(SuiteRow.version)
        rows = self._session.exec(
            select(SuiteRow).where(or_(name.icontains(part, autoescape=True), version.icontains(part, autoescape=True)))
            .order_by(name, col(SuiteRow.created_at)).limit(limit)
        )  # fmt: skip
        return tuple(SuiteLabel(row.name, row.version, row.digest, row.manifest, row.created_at) for row in rows)

    def filters_named(self, name: str, limit: int) -> tuple[tuple[str, str, str], ...]:
        """Histories that hold an entry under this name."""
        kind, suite, suite_name = col(HistoryNameRow.kind), col(HistoryRow.suite), col(HistoryRow.suite_name)
        rows = self._session.execute(
            select(kind, suite, suite_name).join(HistoryRow, col(HistoryRow.id) == col(HistoryNameRow.entry))
            .where(col(HistoryNameRow.name) == name, suite != "", entry_seen(self._viewer, col(HistoryRow.id), col(HistoryRow.status)))
            .distinct().order_by(kind, suite_name, suite).limit(limit)
        )  # fmt: skip
        return tuple((row[0], row[1], row[2]) for row in rows)

"""Runs: announcement, amendments, seal."""

from __future__ import annotations

from sqlmodel import Session, col, select

from pairmark.adapters.sql.models import AmendmentRow, RunRow, SealRow
from pairmark.app.paging import is_plain
from pairmark.app.ports import Seal, StoredRun


class SqlRuns:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, run: StoredRun, complete: str | None) -> None:
        self._session.add(
            RunRow(
                id=run.id, arm=run.arm, suite=run.suite, announcement=run.announcement, complete=complete,
                after_the_fact=run.after_the_fact, created_at=run.created_at,
            )
        )
        self._session.flush()

    def of_id(self, run_id: str) -> StoredRun | None:
        row = self._session.get(RunRow, run_id) if is_plain(run_id) else None
        if row is None:
            return None
        latest = self._session.exec(
            select(AmendmentRow).where(AmendmentRow.run == run_id).order_by(col(AmendmentRow.number).desc()).limit(1)
        ).first()
        sealed = self._session.get(SealRow, run_id)
        return StoredRun(
            id=row.id,
            arm=row.arm,
            suite=row.suite,
            announcement=row.announcement,
            document=row.announcement if latest is None else latest.document,
            amendments=0 if latest is None else latest.number,
            after_the_fact=row.after_the_fact,
            created_at=row.created_at,
            seal=None if sealed is None else _seal(sealed),
        )

    def of_complete(self, document: str) -> StoredRun | None:
        """The run that came with this document complete, or was given it later."""
        found = self._session.exec(select(RunRow.id).where(RunRow.complete == document)).first()
        if found is None:
            found = self._session.exec(select(AmendmentRow.run).where(AmendmentRow.document == document).order_by(AmendmentRow.run)).first()
        return None if found is None else self.of_id(found)

    def amend(self, run_id: str, number: int, document: str, at: str) -> None:
        self._session.add(AmendmentRow(run=run_id, number=number, document=document, created_at=at))
        self._session.flush()

    def seal(self, run_id: str, seal: Seal) -> None:
        self._session.add(
            SealRow(
                run=run_id, document=seal.document, ledger=seal.ledger, count=seal.count, created_at=seal.created_at
            )
        )
        self._session.flush()


def _seal(row: SealRow) -> Seal:
    return Seal(row.document, row.ledger, row.count, row.created_at)

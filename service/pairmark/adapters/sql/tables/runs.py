"""Runs: announcement, amendments, seal."""

from __future__ import annotations

from sqlmodel import Session, col, select

from pairmark.adapters.sql.models import AmendmentRow, RunRow, SealRow
from pairmark.adapters.sql.people_models import RunOwnerRow
from pairmark.adapters.sql.tables.seen import own_run, run_seen
from pairmark.app.paging import is_plain
from pairmark.app.ports import Seal, StoredRun
from pairmark.domain.access import FIRST_ORGANISATION, Viewer
from pairmark.domain.canonical import digest_of


class SqlRuns:
    """Runs as one organisation, the `owner` of what is added, sees them."""

    def __init__(self, session: Session, viewer: Viewer, owner: str) -> None:
        self._session = session
        self._viewer = viewer
        self._owner = owner

    def add(self, run: StoredRun, complete: str | None) -> None:
        self._session.add(
            RunRow(
                id=run.id, arm=run.arm, suite=run.suite, announcement=run.announcement,
                complete=None if complete is None else self._once(complete), after_the_fact=run.after_the_fact, created_at=run.created_at,
            )
        )
        self._session.flush()
        self._session.add(RunOwnerRow(run=run.id, organisation=self._owner))
        self._session.flush()

    def of_id(self, run_id: str) -> StoredRun | None:
        if not is_plain(run_id):
            return None
        row = self._session.exec(select(RunRow).where(RunRow.id == run_id, run_seen(self._viewer, col(RunRow.id)))).first()
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
        found = self._session.exec(select(RunRow.id).where(RunRow.complete == self._once(document))).first()
        if found is None:
            amended = select(AmendmentRow.run).where(AmendmentRow.document == document, own_run(self._viewer, col(AmendmentRow.run)))
            found = self._session.exec(amended.order_by(AmendmentRow.run)).first()
        return None if found is None else self.of_id(found)

    def _once(self, document: str) -> str:
        """What keeps a complete document to one run of each organisation: another's must neither block it nor show through."""
        return document if self._owner == FIRST_ORGANISATION else digest_of([self._owner, document])

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

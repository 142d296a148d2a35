"""Submitted aggregates."""

from __future__ import annotations

from sqlmodel import Session, select

from pairmark.adapters.sql.models import AggregateRow
from pairmark.app.paging import is_plain


class SqlAggregates:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, aggregate_id: str, document: str, at: str) -> None:
        self._session.add(AggregateRow(id=aggregate_id, document=document, created_at=at))
        self._session.flush()

    def of_id(self, aggregate_id: str) -> str | None:
        row = self._session.get(AggregateRow, aggregate_id) if is_plain(aggregate_id) else None
        return None if row is None else row.document

    def of_document(self, document: str) -> str | None:
        row = self._session.exec(select(AggregateRow).where(AggregateRow.document == document)).first()
        return None if row is None else row.id

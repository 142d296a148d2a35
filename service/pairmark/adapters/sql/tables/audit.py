"""The audit log: what a transaction changed, read off the session itself, so that no use case can forget to say it."""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import Text, cast, event, insert, inspect, tuple_
from sqlalchemy.orm import UOWTransaction
from sqlmodel import Session, col, select

from pairmark.adapters.sql.models import DocumentRow, KeyRow, Row
from pairmark.adapters.sql.people_models import AuditRow
from pairmark.adapters.sql.webhook_models import DeliveryRow
from pairmark.app.people_records import Actor, AuditEntry, AuditQuery

SECRET = frozenset({"secret_digest", "secret"})
NOISE = frozenset({"last_used_at"})
"""That a key was used is no change of state."""

UNSEEN = (DocumentRow, KeyRow, AuditRow, DeliveryRow)
"""Documents are named by the rows that use them; idempotency keys and deliveries follow from what is noted."""

_at, _id = col(AuditRow.at), col(AuditRow.id)


class Changes:
    """Every row that a session adds, changes or removes, as values before and after."""

    def __init__(self, session: Session) -> None:
        self.found: list[dict[str, Any]] = []
        event.listen(session, "before_flush", self._before_flush)

    def _before_flush(self, session: Session, _context: UOWTransaction, _instances: object) -> None:
        for row in session.new:
            self._note(row, None, _values(row))
        for row in session.dirty:
            before, after = _difference(row)
            if after.keys() - NOISE:
                self._note(row, before, after)
        for row in session.deleted:
            self._note(row, _values(row), None)

    def _note(self, row: object, before: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
        if isinstance(row, Row) and not isinstance(row, UNSEEN):
            self.found.append({"table": str(row.__tablename__), "row": _key_of(row), "before": before, "after": after})


class SqlAudit:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, entry_id: str, at: str, actor: Actor, changes: list[dict[str, Any]]) -> None:
        """Add an entry in this transaction."""
        who = actor.principal
        self._session.execute(
            insert(AuditRow),
            [
                {
                    "id": entry_id, "at": at, "organisation": who.organisation, "member": who.member, "key": who.key, "via": who.via,
                    "address": actor.address, "request": actor.request, "action": actor.action, "changes": orjson.dumps(changes),
                }
            ],
        )  # fmt: skip

    def page(self, query: AuditQuery, after: tuple[str, str] | None, limit: int) -> tuple[AuditEntry, ...]:
        asked = select(AuditRow)
        if query.organisation is not None:
            asked = asked.where(AuditRow.organisation == query.organisation)
        if query.member is not None:
            asked = asked.where(AuditRow.member == query.member)
        if query.action is not None:
            asked = asked.where(cast(col(AuditRow.action), Text) == query.action)
        if after is not None:
            asked = asked.where(tuple_(_at, _id) < after)
        return tuple(_entry(row) for row in self._session.exec(asked.order_by(_at.desc(), _id.desc()).limit(limit)))


def _values(row: Any) -> dict[str, Any]:
    state = inspect(row)
    return {name: _shown(name, state.dict.get(name)) for name in state.mapper.columns.keys()}  # noqa: SIM118 - not a dict


def _difference(row: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    before, after = {}, {}
    state = inspect(row)
    for name in state.mapper.columns.keys():  # noqa: SIM118 - not a dict
        history = state.attrs[name].history
        if history.has_changes():
            before[name] = _shown(name, history.deleted[0] if history.deleted else None)
            after[name] = _shown(name, history.added[0] if history.added else None)
    return before, after


def _key_of(row: Any) -> str:
    state = inspect(row)
    return "/".join(str(state.dict.get(column.name)) for column in state.mapper.primary_key)


def _shown(name: str, value: Any) -> Any:
    if name in SECRET:
        return "(secret)"
    return f"({len(value)} bytes)" if isinstance(value, bytes) else value


def _entry(row: AuditRow) -> AuditEntry:
    return AuditEntry(
        row.id, row.at, row.organisation, row.member, row.key, row.via, row.address, row.request, row.action, tuple(orjson.loads(row.changes))
    )

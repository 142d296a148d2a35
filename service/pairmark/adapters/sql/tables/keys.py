"""Idempotency keys."""

from __future__ import annotations

from sqlmodel import Session, col, delete, select, update

from pairmark.adapters.sql.models import KeyRow
from pairmark.app.ports import KeptAnswer, Reservation
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.strict_json import parse


class SqlKeys:
    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, key: str) -> Reservation | None:
        row = self._session.exec(select(KeyRow).where(KeyRow.key == key)).first()
        if row is None:
            return None
        answer = None
        if row.status is not None:
            headers = parse(row.headers or b"{}")
            if not isinstance(headers, dict):
                raise TypeError("expected an object as the headers of a kept answer")
            answer = KeptAnswer(row.status, {name: str(value) for name, value in headers.items()}, row.body or b"")
        return Reservation(row.key, row.fingerprint, row.token, row.reserved_at, answer)

    def reserve(self, reservation: Reservation) -> None:
        self._session.exec(delete(KeyRow).where(col(KeyRow.key) == reservation.key))
        self._session.add(
            KeyRow(
                key=reservation.key, fingerprint=reservation.fingerprint, token=reservation.token,
                reserved_at=reservation.reserved_at, status=None, headers=None, body=None,
            )
        )
        self._session.flush()

    def finish(self, key: str, token: str, answer: KeptAnswer) -> bool:
        changed = self._session.exec(
            update(KeyRow)
            .where(col(KeyRow.key) == key, col(KeyRow.token) == token)
            .values(status=answer.status, headers=canonical_bytes(dict(answer.headers)), body=answer.body)
        )
        return changed.rowcount == 1

    def release(self, key: str, token: str) -> None:
        self._session.exec(
            delete(KeyRow).where(col(KeyRow.key) == key, col(KeyRow.token) == token, col(KeyRow.status).is_(None))
        )

    def forget_before(self, moment: str) -> None:
        self._session.exec(delete(KeyRow).where(col(KeyRow.reserved_at) < moment))

"""Suite labels."""

from __future__ import annotations

from sqlmodel import Session, col, or_, select, tuple_

from pairmark.adapters.sql.models import SuiteRow
from pairmark.app.ports import SuiteLabel

_ORDER = (col(SuiteRow.created_at), col(SuiteRow.name), col(SuiteRow.version))


class SqlSuites:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, label: SuiteLabel) -> None:
        self._session.add(
            SuiteRow(
                name=label.name, version=label.version, digest=label.digest, manifest=label.manifest, created_at=label.created_at
            )
        )
        self._session.flush()

    def of_label(self, name: str, version: str) -> SuiteLabel | None:
        row = self._session.exec(select(SuiteRow).where(SuiteRow.name == name, SuiteRow.version == version)).first()
        return None if row is None else _label(row)

    def of_digest(self, digest: str) -> tuple[SuiteLabel, ...]:
        """Labels whose content or manifest has this digest, in the order of registration."""
        asked = select(SuiteRow).where(or_(col(SuiteRow.digest) == digest, col(SuiteRow.manifest) == digest)).order_by(*_ORDER)
        return tuple(map(_label, self._session.exec(asked)))

    def of_name(self, name: str) -> tuple[SuiteLabel, ...]:
        asked = select(SuiteRow).where(SuiteRow.name == name).order_by(*_ORDER)
        return tuple(map(_label, self._session.exec(asked)))

    def page(self, name: str | None, after: tuple[str, str, str] | None, limit: int) -> tuple[SuiteLabel, ...]:
        asked = select(SuiteRow).order_by(*_ORDER).limit(limit)
        if name is not None:
            asked = asked.where(SuiteRow.name == name)
        if after is not None:
            asked = asked.where(tuple_(*_ORDER) > after)
        return tuple(map(_label, self._session.exec(asked)))


def _label(row: SuiteRow) -> SuiteLabel:
    return SuiteLabel(row.name, row.version, row.digest, row.manifest, row.created_at)

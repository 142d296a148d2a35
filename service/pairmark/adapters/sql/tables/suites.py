"""Suite labels."""

from __future__ import annotations

from sqlalchemy import bindparam, or_, select, tuple_
from sqlmodel import Session, col

from pairmark.adapters.sql.models import SuiteRow
from pairmark.app.ports import SuiteLabel

_name, _version, _created_at = col(SuiteRow.name), col(SuiteRow.version), col(SuiteRow.created_at)
_digest, _manifest = col(SuiteRow.digest), col(SuiteRow.manifest)
_ORDER = (_created_at, _name, _version)

# Built once: most requests look a label up, and building a statement costs more than running it.
_LABELS = select(_name, _version, _digest, _manifest, _created_at)
_OF_LABEL = _LABELS.where(_name == bindparam("name"), _version == bindparam("version"))
_OF_DIGEST = _LABELS.where(or_(_digest == bindparam("digest"), _manifest == bindparam("digest"))).order_by(*_ORDER)
_OF_NAME = _LABELS.where(_name == bindparam("name")).order_by(*_ORDER)


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
        row = self._session.execute(_OF_LABEL, {"name": name, "version": version}).first()
        return None if row is None else SuiteLabel(*row)

    def of_digest(self, digest: str) -> tuple[SuiteLabel, ...]:
        """Labels whose content or manifest has this digest, in the order of registration."""
        return tuple(SuiteLabel(*row) for row in self._session.execute(_OF_DIGEST, {"digest": digest}))

    def of_name(self, name: str) -> tuple[SuiteLabel, ...]:
        return tuple(SuiteLabel(*row) for row in self._session.execute(_OF_NAME, {"name": name}))

    def page(self, name: str | None, after: tuple[str, str, str] | None, limit: int) -> tuple[SuiteLabel, ...]:
        asked = _LABELS.order_by(*_ORDER).limit(limit)
        if name is not None:
            asked = asked.where(_name == name)
        if after is not None:
            asked = asked.where(tuple_(*_ORDER) > after)
        return tuple(SuiteLabel(*row) for row in self._session.execute(asked))

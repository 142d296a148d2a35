"""Certificates, and aggregates, as history finds them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

from sqlalchemy import CursorResult, Select, func, insert, literal, select, tuple_, update
from sqlmodel import Session, col

from pairmark.adapters.sql.models import HistoryNameRow, HistoryRow, HistoryTallyRow
from pairmark.adapters.sql.tables.seen import entry_seen
from pairmark.app.paging import is_plain
from pairmark.app.records import HistoryEntry, HistoryLine, HistoryQuery, LeftOut, Status, why_left_out
from pairmark.domain.access import Viewer
from pairmark.domain.canonical import digest_of_bytes

LONGEST_NAME = 256
"""A longer name is found by its digest: index entries have to stay small."""

_id, _suite, _status = col(HistoryRow.id), col(HistoryRow.suite), col(HistoryRow.status)
_name, _definition, _weighting = col(HistoryRow.suite_name), col(HistoryRow.definition), col(HistoryRow.weighting)
_created_at, _summary = col(HistoryRow.created_at), col(HistoryRow.summary)
_NUMBERS = {
    "benign_utility": col(HistoryRow.benign_utility_number),
    "utility_under_attack": col(HistoryRow.utility_under_attack_number),
    "utility_drop": col(HistoryRow.utility_drop_number),
    "attack_success_rate": col(HistoryRow.attack_success_rate_number),
}
_ORDERS: dict[str, Any] = {
    "date": _created_at,
    "drop": _NUMBERS["utility_drop"],
    "utility": _NUMBERS["utility_under_attack"],
}




class SqlHistory:
    """History entries, the names they are found by, and tallies of how many stand where."""

    def __init__(self, session: Session, viewer: Viewer) -> None:
        self._session = session
        self._viewer = viewer
        self._seen = entry_seen(viewer, _id, _status)

    def add(self, entry: HistoryEntry) -> None:
        numbers = {
            f"{name}_number": None if fraction is None else float(Fraction(fraction)) for name, fraction in entry.metrics.items()
        }
        row = {
            "id": entry.certificate, "suite_name": findable(entry.suite_name), "suite": entry.suite, "weighting": entry.weighting,
            "definition": entry.definition, "status": entry.status, "created_at": entry.created_at, "summary": entry.summary,
            **entry.metrics, **numbers,
        }
        self._session.execute(insert(HistoryRow), [row])
        names = [
            {"entry": entry.certificate, "kind": kind, "name": name}
            for kind, found in entry.names.items()
            for name in sorted({findable(name) for name in found})
        ]
        if names:
            self._session.execute(insert(HistoryNameRow), names)
        self._tally((findable(entry.suite_name), entry.status, entry.suite, entry.definition), 1)

    def page(self, query: HistoryQuery, after: tuple[str | float, str] | None, limit: int) -> tuple[HistoryLine, ...]:
        """One indexed walk along the order; names are looked up by entry."""
        order = _ORDERS[query.order]
        asked = select(_id, order, _summary, _suite, _definition, _status).where(order.is_not(None), self._seen)
        if query.incomparable:
            asked = asked.where(_name.in_(_findable_all(query.suite_names)))
        else:
            asked = asked.where(*_in_mix(query))
        for kind, name in query.names:
            named = select(literal(1)).where(
                col(HistoryNameRow.entry) == _id, col(HistoryNameRow.kind) == kind, col(HistoryNameRow.name) == findable(name)
            )
            asked = asked.where(named.exists())
        if query.since is not None:
            asked = asked.where(_created_at >= query.since)
        if query.until is not None:
            asked = asked.where(_created_at <= query.until)
        for metric, side, value in query.bounds:
            asked = asked.where(_NUMBERS[metric] >= value if side == "min" else _NUMBERS[metric] <= value)
        if after is not None:
            place = tuple_(order, _id)
            asked = asked.where(place < after if query.descending else place > after)
        asked = asked.order_by(*(part.desc() if query.descending else part.asc() for part in (order, _id))).limit(limit)
        return tuple(_line(row) for row in self._session.execute(asked))

    def left_out(self, query: HistoryQuery) -> dict[LeftOut, int]:
        """From the tallies, one row per mix, definition and status, where everything is seen; else by counting what is seen."""
        found: dict[LeftOut, int] = {}
        for status, suite, definition, entries in self._session.execute(self._standing(query)):
            reason = why_left_out(status, suite, definition, query)
            if reason is not None:
                found[reason] = found.get(reason, 0) + entries
        if query.order != "date":
            undefined = select(func.count()).where(*_in_mix(query), _ORDERS[query.order].is_(None), self._seen)
            found |= _if_any("undefined-rate", int(self._session.execute(undefined).scalar_one()))
        return found

    def _standing(self, query: HistoryQuery) -> Select[str, str, str, int]:
        """How many entries stand where under the query's names."""
        names = _findable_all(query.suite_names)
        if self._viewer.everything:
            tallied = (col(HistoryTallyRow.status), col(HistoryTallyRow.suite), col(HistoryTallyRow.definition), col(HistoryTallyRow.entries))
            return select(*tallied).where(col(HistoryTallyRow.suite_name).in_(names), col(HistoryTallyRow.entries) > 0)
        return select(_status, _suite, _definition, func.count()).where(_name.in_(names), self._seen).group_by(_status, _suite, _definition)

    def count(self, query: HistoryQuery) -> int:
        return int(self._session.execute(select(func.count()).where(*_in_mix(query), self._seen)).scalar_one())

    def find(self, entry_id: str) -> HistoryLine | None:
        if not is_plain(entry_id):
            return None
        asked = select(_id, _created_at, _summary, _suite, _definition, _status).where(_id == entry_id, self._seen)
        row = self._session.execute(asked).first()
        return None if row is None else _line(row)

    def mark(self, entry_id: str, status: Status) -> None:
        row = self._session.execute(select(_name, _status, _suite, _definition).where(_id == entry_id)).first()
        if row is None or row[1] == status:
            return
        self._session.execute(update(HistoryRow).where(_id == entry_id).values(status=status))
        self._tally((row[0], row[1], row[2], row[3]), -1)
        self._tally((row[0], status, row[2], row[3]), 1)

    def over(self, suite: str) -> tuple[HistoryLine, ...]:
        asked = select(_id, _created_at, _summary, _suite, _definition, _status)
        asked = asked.where(_suite == suite, _status.in_(("valid", "superseded", "revoked")), self._seen).order_by(_created_at, _id)
        return tuple(_line(row) for row in self._session.execute(asked))

    def _tally(self, place: tuple[str, str, str, str], more: int) -> None:
        here = dict(zip(("suite_name", "status", "suite", "definition"), place, strict=True))
        changed = self._session.execute(
            update(HistoryTallyRow).filter_by(**here).values(entries=HistoryTallyRow.entries + more)
        )
        if not cast("CursorResult[Any]", changed).rowcount:
            self._session.execute(insert(HistoryTallyRow), [{**here, "entries": more}])

    def has_name(self, suite_name: str) -> bool:
        if not is_plain(suite_name):
            return False
        return self._session.execute(select(literal(1)).where(_name == findable(suite_name), self._seen).limit(1)).first() is not None


def _in_mix(query: HistoryQuery) -> tuple[Any, ...]:
    """What an entry must be to compare."""
    return (_suite == query.suite, _weighting == query.weighting, _definition == query.definition, _status == "valid")


def _if_any(reason: LeftOut, number: int) -> dict[LeftOut, int]:
    return {reason: number} if number else {}


def findable(name: str) -> str:
    """The text that a name is stored and looked up by."""
    return name if len(name) <= LONGEST_NAME else digest_of_bytes(name.encode())


def _findable_all(names: tuple[str, ...]) -> list[str]:
    return [findable(name) for name in names]


def _line(row: Any) -> HistoryLine:
    return HistoryLine(*row)

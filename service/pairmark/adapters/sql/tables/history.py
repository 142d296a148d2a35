"""Certificates as history finds them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sqlmodel import Session, col, exists, select, tuple_

from pairmark.adapters.sql.models import HistoryNameRow, HistoryRow
from pairmark.app.ports import HistoryEntry, HistoryLine, HistoryQuery
from pairmark.domain.canonical import digest_of_bytes

LONGEST_NAME = 256
"""A longer name is found by its digest: index entries have to stay small."""

_NUMBERS = {
    "benign_utility": col(HistoryRow.benign_utility_number),
    "utility_under_attack": col(HistoryRow.utility_under_attack_number),
    "utility_drop": col(HistoryRow.utility_drop_number),
    "attack_success_rate": col(HistoryRow.attack_success_rate_number),
}
_ORDERS: dict[str, Any] = {
    "date": col(HistoryRow.created_at),
    "drop": _NUMBERS["utility_drop"],
    "utility": _NUMBERS["utility_under_attack"],
}


class SqlHistory:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, entry: HistoryEntry) -> None:
        numbers = {
            f"{name}_number": None if fraction is None else float(Fraction(fraction)) for name, fraction in entry.metrics.items()
        }
        self._session.add(
            HistoryRow.model_validate(
                {
                    "certificate": entry.certificate, "suite": entry.suite, "weighting": entry.weighting,
                    "definition": entry.definition, "created_at": entry.created_at, "summary": entry.summary,
                    **entry.metrics, **numbers,
                }
            )
        )
        self._session.flush()
        for kind, names in entry.names.items():
            for name in sorted({findable(name) for name in names}):
                self._session.add(HistoryNameRow(certificate=entry.certificate, kind=kind, name=name))
        self._session.flush()

    def page(self, query: HistoryQuery, after: tuple[str | float, str] | None, limit: int) -> tuple[HistoryLine, ...]:
        """One indexed walk along the order; names are looked up by certificate."""
        order, identifier = _ORDERS[query.order], col(HistoryRow.certificate)
        asked = select(identifier, order, col(HistoryRow.summary)).where(
            HistoryRow.suite == query.suite,
            HistoryRow.weighting == query.weighting,
            HistoryRow.definition == query.definition,
            order.is_not(None),
        )
        for kind, name in query.names:
            asked = asked.where(
                exists().where(
                    col(HistoryNameRow.certificate) == identifier,
                    col(HistoryNameRow.kind) == kind,
                    col(HistoryNameRow.name) == findable(name),
                )
            )
        if query.since is not None:
            asked = asked.where(HistoryRow.created_at >= query.since)
        if query.until is not None:
            asked = asked.where(HistoryRow.created_at <= query.until)
        for metric, side, value in query.bounds:
            asked = asked.where(_NUMBERS[metric] >= value if side == "min" else _NUMBERS[metric] <= value)
        if after is not None:
            place = tuple_(order, identifier)
            asked = asked.where(place < after if query.descending else place > after)
        asked = asked.order_by(*(part.desc() if query.descending else part.asc() for part in (order, identifier))).limit(limit)
        return tuple(HistoryLine(row[0], row[1], row[2]) for row in self._session.exec(asked))


def findable(name: str) -> str:
    """The text that a name is stored and looked up by."""
    return name if len(name) <= LONGEST_NAME else digest_of_bytes(name.encode())

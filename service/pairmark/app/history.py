"""Certificates over one frozen mix."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pairmark.app.history_entry import DEFINITION
from pairmark.app.paging import Page, cursor_at, place_of, query_mark
from pairmark.app.ports import HistoryLine, HistoryQuery, SuiteLabel, Tables
from pairmark.app.read_suite import resolve_suite
from pairmark.app.register_suite import manifest_value


@dataclass(frozen=True)
class HistoryAnswer:
    """The mix that was asked for, its labels, and a page of certificates over it."""

    suite: SuiteLabel
    labels: tuple[SuiteLabel, ...]
    weighting: str
    definition: str
    page: Page[HistoryLine]


def history(tables: Tables, suite: str, query: HistoryQuery, cursor: str | None, limit: int) -> HistoryAnswer:
    """A page of the certificates over the suite that `suite` means; `query`'s mix fields are filled in here.

    Sorted by a rate, certificates on which that rate is undefined are left out.

    Raises:
        NotFound, Conflict: `suite` means nothing, or several contents.
        Malformed: a cursor of another query.
    """
    label = resolve_suite(tables, suite)
    weighting = str(manifest_value(tables, label)["weighting"])
    asked = replace(query, suite=label.digest, weighting=weighting, definition=DEFINITION)
    mark = query_mark(
        [
            "history", asked.suite, [list(pair) for pair in asked.names], asked.since, asked.until,
            [list(bound) for bound in asked.bounds], asked.order, asked.descending,
        ]
    )
    place = place_of(cursor, mark, (str if asked.order == "date" else float, str))
    after = None
    if place is not None:
        first = place[0]
        after = (first if isinstance(first, str) else float(first), str(place[1]))
    found = tables.history.page(asked, after, limit + 1)
    items = found[:limit]
    further = cursor_at(mark, (items[-1].order, items[-1].certificate)) if len(found) > limit else None
    labels = tuple(other for other in tables.suites.of_digest(label.digest) if other.digest == label.digest)
    return HistoryAnswer(label, labels, weighting, DEFINITION, Page(items, further))


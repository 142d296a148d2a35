"""Certificates over one frozen mix, and what was left out of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pairmark.app.history_entry import DEFINITION
from pairmark.app.paging import Page, cursor_at, place_of, query_mark
from pairmark.app.ports import Tables
from pairmark.app.read_suite import resolve_suite
from pairmark.app.records import UNKNOWN_MIX, HistoryLine, HistoryQuery, LeftOut, SuiteLabel, why_left_out
from pairmark.app.register_suite import manifest_value
from pairmark.domain.errors import Conflict, NotFound
from pairmark.domain.version_order import version_key

KEPT_WEIGHTINGS = 1024
_weightings: dict[str, str] = {}
"""By suite digest, which it follows from; so that a page need not read a manifest."""


@dataclass(frozen=True)
class HistoryAnswer:
    """The mix that was asked for, its labels in the order of versions, and a page of entries.

    `suite` is None where nothing but aggregates stands under the name: then no mix is known. `left_out` counts, by
    reason, what is over the suite or stands under its names and is not comparable, whether the page lists it or not.
    """

    suite: SuiteLabel | None
    labels: tuple[SuiteLabel, ...]
    query: HistoryQuery
    page: Page[HistoryLine]
    left_out: dict[LeftOut, int]


def history(
    tables: Tables, suite: str, query: HistoryQuery, cursor: str | None, limit: int, expected: str | None = None
) -> HistoryAnswer:
    """A page of the certificates over the suite that `suite` means; `query`'s mix fields are filled in here.

    Sorted by a rate, entries on which that rate is undefined are left out. `expected` is the digest that the caller
    knows the suite by.

    Raises:
        NotFound: nothing is known under `suite`.
        Conflict: several contents under a name, or another digest than `expected` or than the cursor's.
        Malformed: a cursor of another query.
    """
    label, labels = _resolved(tables, suite)
    digest = UNKNOWN_MIX if label is None else label.digest
    _refuse_moved(suite, digest, expected)
    names = (suite,) if label is None else tuple(dict.fromkeys(other.name for other in labels))
    weighting = "" if label is None else _weighting(tables, label)
    asked = replace(query, suite=digest, weighting=weighting, definition=DEFINITION, suite_names=names)
    mark = query_mark(
        [
            "history", suite, [list(pair) for pair in asked.names], asked.since, asked.until,
            [list(bound) for bound in asked.bounds], asked.order, asked.descending, asked.incomparable,
        ]
    )  # fmt: skip
    place = place_of(cursor, mark, (str, str if asked.order == "date" else float, str))
    after = None
    if place is not None:
        _refuse_moved(suite, digest, str(place[0]))
        first = place[1]
        after = (first if isinstance(first, str) else float(first), str(place[2]))
    found = tables.history.page(asked, after, limit + 1)
    items = found[:limit]
    further = None if len(found) <= limit else cursor_at(mark, (digest, items[-1].order, items[-1].certificate))
    return HistoryAnswer(label, labels, asked, Page(items, further), tables.history.left_out(asked))


def reason_left_out(line: HistoryLine, query: HistoryQuery) -> LeftOut | None:
    """Why an entry is not comparable within the query's mix; None where it is."""
    return why_left_out(line.status, line.suite, line.definition, query)


def _resolved(tables: Tables, suite: str) -> tuple[SuiteLabel | None, tuple[SuiteLabel, ...]]:
    try:
        label = resolve_suite(tables, suite)
    except NotFound:
        if not tables.history.has_name(suite):
            raise
        return None, ()
    labels = [other for other in tables.suites.of_digest(label.digest) if other.digest == label.digest]
    return label, tuple(sorted(labels, key=lambda other: (other.name, version_key(other.version))))


def _refuse_moved(suite: str, digest: str, expected: str | None) -> None:
    if expected is not None and expected != digest:
        raise Conflict(
            "label-moved",
            f"expected {suite} to mean {expected or 'no registered suite'}, found that it means"
            f" {digest or 'no registered suite'} by now",
            "ask by digest to stay with one mix, or start again without `cursor` and `digest`",
        )


def _weighting(tables: Tables, label: SuiteLabel) -> str:
    found = _weightings.get(label.digest)
    if found is None:
        found = str(manifest_value(tables, label)["weighting"])
        if len(_weightings) >= KEPT_WEIGHTINGS:
            _weightings.clear()
        _weightings[label.digest] = found
    return found

"""Read the audit log."""

from __future__ import annotations

from pairmark.app.paging import Page, cursor_at, place_of, query_mark
from pairmark.app.people_records import AuditEntry, AuditQuery
from pairmark.app.ports import Tables


def list_audit(tables: Tables, query: AuditQuery, cursor: str | None, limit: int) -> Page[AuditEntry]:
    """Changes of state, the newest first.

    Raises:
        Malformed: a cursor of another query.
    """
    mark = query_mark(["audit", query.organisation, query.member, query.action])
    place = place_of(cursor, mark, (str, str))
    after = None if place is None else (str(place[0]), str(place[1]))
    found = tables.audit.page(query, after, limit + 1)
    items = found[:limit]
    return Page(items, cursor_at(mark, (items[-1].at, items[-1].id)) if len(found) > limit else None)

"""The first page, and the search on every page."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse

from pairmark.app.search import Found
from pairmark.http.pages.rendering import SECURITY, page
from pairmark.http.pages.routing import page_router
from pairmark.http.pages.shown import query, segment
from pairmark.http.pages.sources import WithSources

router = page_router()

SHOWN = 8
SUITES_SHOWN = 12


@router.get("/")
def get_start(request: Request, sources: WithSources) -> Response:
    """Suites, the latest certificates, what waits in quarantine."""
    return page(
        request, "start.html",
        suites=sources.suites(None, None, SUITES_SHOWN),
        certified=sources.certifications("certified", waiting=False, cursor=None, limit=SHOWN),
        waiting=sources.certifications(None, waiting=True, cursor=None, limit=SHOWN),
    )  # fmt: skip


@router.get("/search")
def get_search(request: Request, sources: WithSources, q: Annotated[str, Query(max_length=20_000)] = "") -> Response:
    """What a name, a label, a digest or an id stands for; straight there if that is one thing."""
    found = sources.found(q)
    if len(found) == 1:
        return RedirectResponse(address_of(found[0]), 303, SECURITY)
    return page(request, "search.html", 200 if found or not q.strip() else 404, asked=q.strip(), found=[(one, address_of(one)) for one in found])


def address_of(found: Found) -> str:
    """The page of what was found."""
    if found.kind == "history":
        kind, name = found.filter or ("", "")
        return query("/history", {"suite": found.id, kind: name})
    if found.kind == "aggregate":
        return f"/v1/aggregates/{segment(found.id)}"
    return f"/{found.kind}s/{segment(found.id)}"

"""The pages as a part of the application: routes, static files, and errors that people can read."""

from __future__ import annotations

from fastapi import APIRouter, FastAPI, Request, Response
from starlette.exceptions import HTTPException

import pairmark.http.pages.routes
from pairmark.domain.discovery import discover
from pairmark.http.answers import IMMUTABLE
from pairmark.http.pages.rendering import SECURITY, assets
from pairmark.http.pages.routing import page_router, problem_page
from pairmark.http.problems import http_problem, on_http_exception

NOT_PAGES = ("/v1/", "/static/", "/openapi.json", "/healthz", "/readyz", "/metrics")

static = page_router()


@static.get("/static/{digest}/{name}")
def get_static(digest: str, name: str) -> Response:
    """A file that the pages load; its address names its content."""
    found = assets().get(name)
    if found is None or found[2] != digest:
        raise HTTPException(404)
    content, media_type, tag = found
    return Response(content, 200, {**SECURITY, "Cache-Control": IMMUTABLE, "ETag": f'"{tag}"'}, media_type)


def add_pages(app: FastAPI) -> None:
    """Serve the pages; an address that is none is a page for those who ask for one, and a problem for the rest."""
    app.include_router(static)
    for router in discover(pairmark.http.pages.routes, "router"):
        if not isinstance(router, APIRouter):
            raise TypeError(f"expected a router in pairmark.http.pages.routes, found {router!r}")
        app.include_router(router)
    app.add_exception_handler(HTTPException, _on_http_exception)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException) and wants_page(request):
        return problem_page(request, http_problem(request, error), error.headers)
    return await on_http_exception(request, error)


def wants_page(request: Request) -> bool:
    """True for an address outside the API that was asked for by something that shows pages."""
    return not request.url.path.startswith(NOT_PAGES) and "text/html" in request.headers.get("accept", "")

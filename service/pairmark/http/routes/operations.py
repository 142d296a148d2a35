"""Health, readiness and numbers."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

from pairmark.adapters.sql.migrate import current, head
from pairmark.adapters.telemetry.numbers import CONTENT_TYPE
from pairmark.app.errors import Unavailable
from pairmark.domain.documents.problem import ProblemItem
from pairmark.domain.errors import PairmarkError, one_line
from pairmark.http.answers import CHANGING, changing_json
from pairmark.http.documented import answers
from pairmark.http.models import Health, Readiness
from pairmark.http.problems import ProblemResponse, problem_of
from pairmark.http.services import Services

router = APIRouter(tags=["operations"])

NUMBERS: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


@router.get("/healthz", responses=answers(s200=Health))
async def get_health() -> Response:
    """The process answers."""
    return changing_json({"status": "ok"})


@router.get("/readyz", responses=answers(s200=Readiness))
def get_readiness(request: Request) -> Response:
    """Whether the database answers and is migrated, the object store can be written, and the keys can sign; else what to do, part by part.

    Whoever calls: who may call is itself a question to the database.
    """
    services: Services = request.app.state.services
    wrong: list[tuple[str, PairmarkError]] = []
    for part, check in (("store", _store), ("database", _database), ("migrations", _migrations), ("signer", _signer)):
        try:
            check(services)
        except PairmarkError as error:
            wrong.append((part, error))
            if part != "store":  # each of the others stands on the one before
                break
    if not wrong:
        return changing_json({"status": "ready", "database": "ok", "migrations": head(), "store": "ok", "signer": "ok"})
    first = wrong[0][1]
    items = tuple(ProblemItem(detail=one_line(f"{part}: {error}")) for part, error in wrong)
    found = problem_of(first, request.url.path).model_copy(update={"status": 503, "title": "Service Unavailable", "errors": items})
    return ProblemResponse(found, {"Retry-After": str(getattr(first, "retry_after", 60))})


@router.get("/metrics", responses={**answers(), **NUMBERS})
def get_numbers(request: Request) -> Response:
    """Numbers in Prometheus' text format, over all processes that serve together."""
    content: bytes = request.app.state.numbers.exposition()
    return Response(content, 200, {"Cache-Control": CHANGING}, CONTENT_TYPE)


def _database(services: Services) -> None:
    with services.database.reading(), services.database.engine.connect() as connection:
        connection.execute(select(1))


def _migrations(services: Services) -> None:
    try:
        revision, newest = current(services.database.engine), head()
    except DBAPIError as problem:
        raise Unavailable("database-unavailable", "expected the database to answer, found that it does not", "try again a little later") from problem
    if revision != newest:
        raise Unavailable(
            "not-migrated", f"expected the database at revision {newest}, found {revision or 'none'}", "run `pairmark db upgrade`"
        )


def _store(services: Services) -> None:
    services.ledgers.require_writable()


def _signer(services: Services) -> None:
    with services.database.reading() as tables:
        size = tables.log.head().size
    services.signing.require_ready(size)

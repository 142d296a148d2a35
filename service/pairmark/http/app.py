"""The application: the parts, the routes, and every error a problem."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from fastapi.concurrency import run_in_threadpool

import pairmark
import pairmark.http.routes
from pairmark.adapters.sql.counts import Counts, counts_of
from pairmark.adapters.sql.migrate import upgrade
from pairmark.adapters.sql.ready import require_head
from pairmark.adapters.telemetry.numbers import Numbers
from pairmark.adapters.telemetry.spans import Tracing
from pairmark.app.errors import Unavailable
from pairmark.domain.discovery import discover
from pairmark.http.access import require_known_needs
from pairmark.http.crashes import CrashesAreProblems
from pairmark.http.openapi import DESCRIPTION, describe
from pairmark.http.pages.site import add_pages
from pairmark.http.postman import Postman
from pairmark.http.private import AnswersArePrivate
from pairmark.http.problems import add_problem_handlers
from pairmark.http.routes.uploads import uploads_of
from pairmark.http.services import Services, build_services
from pairmark.http.settings import Settings
from pairmark.http.watched import Watched
from pairmark.http.worker import Worker

log = logging.getLogger("pairmark.http")


def create_app(settings: Settings) -> FastAPI:
    """The service as an ASGI application. Its own embedded database is migrated here; another one must be.

    Raises:
        Malformed: a setting that cannot be used.
        Unavailable: the database cannot be reached, or is not migrated.
    """
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    _require_migrated(settings)
    tracing = None if settings.otlp_endpoint is None else Tracing.to(settings.otlp_endpoint, pairmark.__version__)
    services = build_services(settings)
    worker, postman = Worker(services), Postman(services)
    numbers = Numbers(lambda: _counts(services))

    @asynccontextmanager
    async def running(_app: FastAPI) -> AsyncIterator[None]:
        _sweep(services)
        worker.wake()
        postman.start()
        yield
        await run_in_threadpool(postman.stop, settings.shutdown_seconds)
        await run_in_threadpool(worker.stop, settings.shutdown_seconds)
        await run_in_threadpool(let_go, app)

    app = FastAPI(
        title="Pairmark", version=pairmark.__version__, description=DESCRIPTION, lifespan=running, docs_url=None, redoc_url=None,
        redirect_slashes=False,
    )
    app.state.postman = postman
    app.state.services, app.state.worker, app.state.numbers, app.state.tracing = services, worker, numbers, tracing
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]  # FastAPI's documented way to extend it
    add_problem_handlers(app)
    app.add_middleware(AnswersArePrivate)
    app.add_middleware(CrashesAreProblems)
    app.add_middleware(Watched, numbers=numbers, database=services.database)
    for router in discover(pairmark.http.routes, "router"):
        if not isinstance(router, APIRouter):
            raise TypeError(f"expected a router in pairmark.http.routes, found {router!r}")
        app.include_router(router)
    add_pages(app)
    require_known_needs(app)
    if tracing is not None:
        tracing.watch(app)
    return app


def let_go(app: FastAPI) -> None:
    """Close what an application holds: connections, local copies, spans that wait."""
    app.state.services.database.close()
    app.state.services.ledgers.close()
    if app.state.tracing is not None:
        app.state.tracing.close()


def _sweep(services: Services) -> None:
    """Tidy scratch. A store that cannot be written now does not keep the service from reading."""
    try:
        services.ledgers.sweep(services.clock().timestamp())
        uploads_of(services).sweep(services.clock().timestamp())
    except Unavailable as problem:
        log.warning("scratch is not tidied: %s", problem)


def _counts(services: Services) -> Counts | None:
    try:
        return counts_of(services.database)
    except Unavailable:
        return None


def _require_migrated(settings: Settings) -> None:
    if settings.embedded:
        upgrade(settings.database)
        return
    require_head(settings.database)

"""The application: the parts, the routes, and every error a problem."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from fastapi.concurrency import run_in_threadpool

import pairmark
import pairmark.http.routes
from pairmark.adapters.sql.migrate import upgrade
from pairmark.adapters.sql.ready import require_head
from pairmark.domain.discovery import discover
from pairmark.http.access import require_known_needs
from pairmark.http.crashes import CrashesAreProblems
from pairmark.http.openapi import DESCRIPTION, describe
from pairmark.http.private import AnswersArePrivate
from pairmark.http.problems import add_problem_handlers
from pairmark.http.services import build_services
from pairmark.http.settings import Settings
from pairmark.http.worker import Worker


def create_app(settings: Settings) -> FastAPI:
    """The service as an ASGI application. Its own embedded database is migrated here; another one must be.

    Raises:
        Malformed: a setting that cannot be used.
        Unavailable: the database cannot be reached, or is not migrated.
    """
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    _require_migrated(settings)
    services = build_services(settings)
    worker = Worker(services)

    @asynccontextmanager
    async def running(_app: FastAPI) -> AsyncIterator[None]:
        services.ledgers.sweep(services.clock().timestamp())
        worker.wake()
        yield
        await run_in_threadpool(worker.stop, settings.shutdown_seconds)
        services.database.close()
        services.ledgers.close()

    app = FastAPI(
        title="Pairmark", version=pairmark.__version__, description=DESCRIPTION, lifespan=running, docs_url=None, redoc_url=None,
        redirect_slashes=False,
    )
    app.state.services, app.state.worker = services, worker
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]  # FastAPI's documented way to extend it
    add_problem_handlers(app)
    app.add_middleware(AnswersArePrivate)
    app.add_middleware(CrashesAreProblems)
    for router in discover(pairmark.http.routes, "router"):
        if not isinstance(router, APIRouter):
            raise TypeError(f"expected a router in pairmark.http.routes, found {router!r}")
        app.include_router(router)
    return app


def _require_migrated(settings: Settings) -> None:
    if settings.embedded:
        upgrade(settings.database)
        return
    require_head(settings.database)

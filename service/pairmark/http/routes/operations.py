"""Health and readiness."""

from __future__ import annotations

from fastapi import APIRouter, Response

from pairmark.adapters.sql.migrate import current, head
from pairmark.app.errors import Unavailable
from pairmark.http.answers import changing_json
from pairmark.http.documented import answers
from pairmark.http.models import Health, Readiness
from pairmark.http.services import WithServices

router = APIRouter(tags=["operations"])


@router.get("/healthz", responses=answers(s200=Health))
async def get_health() -> Response:
    """The process answers."""
    return changing_json({"status": "ok"})


@router.get("/readyz", responses=answers(s200=Readiness))
def get_readiness(services: WithServices) -> Response:
    """The database answers and is migrated, and the object store can be written."""
    with services.database.reading():
        revision, newest = current(services.database.engine), head()
    if revision != newest:
        raise Unavailable(
            "not-migrated", f"expected the database at revision {newest}, found {revision or 'none'}", "run `pairmark db upgrade`"
        )
    services.ledgers.require_writable()
    return changing_json({"status": "ready", "database": "ok", "migrations": revision, "store": "ok"})

"""Every request has an id, is counted, and leaves one line in the log."""

from __future__ import annotations

import logging
import re
import secrets
from time import perf_counter
from typing import Any

from sqlalchemy.pool import QueuePool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pairmark.adapters.sql.database import SqlDatabase
from pairmark.adapters.telemetry.bound import bound, ids_in
from pairmark.adapters.telemetry.numbers import Numbers

log = logging.getLogger("pairmark.access")

HEADER = "X-Request-ID"
QUIET = ("/healthz", "/readyz", "/metrics")
"""Asked so often that a line each would bury the rest: logged only when they fail."""

UNMATCHED = "unmatched"
"""The route of a request that no route took; paths are no labels."""

UPLOAD = "/v1/runs/{run_id}/episodes"

_request_id = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Watched:
    """ASGI middleware outside everything else."""

    def __init__(self, app: ASGIApp, numbers: Numbers, database: SqlDatabase) -> None:
        self.app, self._numbers, self._database = app, numbers, database

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER.lower(), "")
        request_id = given if _request_id.fullmatch(given) else secrets.token_hex(16)
        started, status, received, made = perf_counter(), 500, 0, {}  # type: float, int, int, dict[str, str]

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            return message

        async def marked(message: Message) -> None:
            nonlocal status, made
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[HEADER] = request_id
                made = ids_in(headers.get("location", ""))
            await send(message)

        self._numbers.began()
        scope.setdefault("state", {})["request_id"] = request_id
        with bound(request_id=request_id, **ids_in(scope["path"])):
            try:
                await self.app(scope, counted, marked)
            finally:
                seconds, route = perf_counter() - started, _route_of(scope)
                upload = scope["method"] == "PUT" and route == UPLOAD
                self._numbers.answered(scope["method"], route, status, seconds, received, upload=upload)
                pool = self._database.engine.pool
                if isinstance(pool, QueuePool):
                    self._numbers.pool(pool.checkedout(), pool.checkedin())
                said: dict[str, Any] = {
                    "method": scope["method"], "path": scope["path"], "route": route, "status": status, "ms": round(seconds * 1000, 1),
                    "received_bytes": received, **made,
                }  # fmt: skip
                level = logging.DEBUG if scope["path"] in QUIET and status < 500 else logging.INFO
                log.log(level, "%s %s %d %.1f ms", scope["method"], shown_path(scope["path"]), status, seconds * 1000, extra=said)


def shown_path(path: str) -> str:
    """A path as one printable line of bounded length."""
    return "".join(each if each.isprintable() else "?" for each in path[:300])


def _route_of(scope: Scope) -> str:
    template = getattr(scope.get("route"), "path", None)
    return template if isinstance(template, str) and template else UNMATCHED

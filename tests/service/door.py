"""How tests get in where a key is wanted, as it always is with PostgreSQL: calls without a key are sent with an admin's."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from pairmark.adapters.sql.database import SqlDatabase
from pairmark.http.access import first_admin_key
from pairmark.http.app import create_app
from pairmark.http.services import new_id, now
from pairmark.http.settings import Settings

_tokens: dict[str, str] = {}

TOKEN = "TEST_TOKEN"
"""Variable that tells a process of the token."""


PORT = "TEST_PORT"
"""Variable that tells a process where to listen; any free port unless it is given."""


class WithKey:
    """ASGI middleware: a request that brings no credentials brings this key."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._header = app, (b"authorization", f"Bearer {token}".encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not any(name == b"authorization" for name, _ in scope["headers"]):
            scope = {**scope, "headers": [*scope["headers"], self._header]}
        await self._app(scope, receive, send)


def token_for(settings: Settings) -> str | None:
    """A token for a service with these settings; None where its own file lets everybody on this machine in."""
    if settings.embedded:
        return None
    if settings.database not in _tokens:
        database = SqlDatabase.at(settings.database)
        try:
            made = first_admin_key(database, new_id, now)
        finally:
            database.close()
        assert made is not None
        _tokens[settings.database] = made
    return _tokens[settings.database]


def opened(settings: Settings, token: str | None) -> FastAPI:
    """The application, and the token at its door."""
    app = create_app(settings)
    if token is not None:
        app.add_middleware(WithKey, token=token)
    return app


def serve() -> None:
    """What a test's server process runs: the real one, with the token of its environment."""
    import os

    from pairmark.http import server

    token = os.environ.get(TOKEN)
    vars(server)["create_app"] = lambda settings: opened(settings, token)
    server.serve(port=int(os.environ.get(PORT, "0")))

"""What a signed-in caller is answered is for that caller's caches only."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pairmark.domain.access import Principal


class AnswersArePrivate:
    """ASGI middleware: long-lived answers stay out of shared caches unless anybody may read them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def marked(message: Message) -> None:
            principal = scope.get("state", {}).get("principal")
            if message["type"] == "http.response.start" and isinstance(principal, Principal) and principal.via != "local":
                headers = MutableHeaders(scope=message)
                headers.add_vary_header("Authorization")
                kept = headers.get("cache-control", "")
                if principal.via != "anonymous" and "public" in kept:
                    headers["cache-control"] = kept.replace("public", "private")
            await send(message)

        await self.app(scope, receive, marked)

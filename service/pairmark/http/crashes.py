"""The last line: a crash becomes a problem without a word of its inside, and a log record with all of it."""

from __future__ import annotations

import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pairmark.http.problems import ProblemResponse, crash_problem

log = logging.getLogger("pairmark.http")


class CrashesAreProblems:
    """ASGI middleware outside everything else."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception:
            log.exception("%s %s crashed", scope["method"], scope["path"])
            if begun:
                raise  # the answer is half sent: only closing the connection tells the truth
            await ProblemResponse(crash_problem())(scope, receive, send)

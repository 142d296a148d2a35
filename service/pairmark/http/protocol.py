"""HTTP/1.1 as uvicorn speaks it, with bounds on what a peer may hold open: slow heads, endless bodies, too many connections."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from pairmark.domain.canonical import canonical_bytes
from pairmark.http.problems import MEDIA_TYPE, problem


@dataclass(frozen=True)
class Bounds:
    """What one connection may take.

    Attributes:
        head_seconds: from a connection, or a request's first byte, to the end of the request's head.
        body_seconds: from the end of the head to the end of the body, however it trickles in.
        head_bytes: of a request's line and headers.
        connections: at the same time, in one process.
    """

    head_seconds: float = 10
    body_seconds: float = 3600
    head_bytes: int = 32 * 1024
    connections: int = 1000


class BoundedConfig(uvicorn.Config):
    """uvicorn's configuration, and the bounds of its connections."""

    bounds: Bounds = Bounds()


class BoundedProtocol(H11Protocol):
    """One connection."""

    def __init__(self, config: uvicorn.Config, *rest: Any, **options: Any) -> None:
        super().__init__(config, *rest, **options)
        self._bounds = config.bounds if isinstance(config, BoundedConfig) else Bounds()
        self._head: asyncio.TimerHandle | None = None
        self._body: asyncio.TimerHandle | None = None
        self._known: RequestResponseCycle | None = None

    def _latest(self) -> RequestResponseCycle | None:
        """The newest request; uvicorn's own annotation forgets that there may be none."""
        return self.cycle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn narrows it
        """Start the time for the first head, unless there are too many connections."""
        super().connection_made(transport)
        if len(self.connections) > self._bounds.connections:
            self._refuse(503, "too-many-connections", f"expected at most {self._bounds.connections} connections at once, found more; try again a little later")
            return
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """No timer outlives its connection."""
        self._stop(head=True)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; those after a pause start the time for the next head."""
        latest = self._latest()
        if self._head is None and (latest is None or latest.response_complete):
            self._await_head()
        # h11 minds the size of a head only while it is not whole: in small pieces a large one is never whole at once.
        size = max(self._bounds.head_bytes // 8, 512)
        while data and not self.transport.is_closing():
            latest = self._latest()
            wanted = len(data) if latest is not None and latest.more_body else size
            super().data_received(data[:wanted])
            data = data[wanted:]

    def handle_events(self) -> None:
        """Act on what came in; a whole head ends its time and starts that of its body."""
        super().handle_events()
        latest = self._latest()
        if latest is None:
            return
        if latest is not self._known:
            self._known = latest
            self._stop(head=True)
            if latest.more_body:
                self._body = self.loop.call_later(self._bounds.body_seconds, self._drop)
        if not latest.more_body:
            self._stop()

    def on_response_complete(self) -> None:
        """A body that nobody wanted does not keep the connection."""
        answered = self._latest()
        super().on_response_complete()
        if answered is not None and answered.more_body and answered is self._latest() and not self.transport.is_closing():
            self._stop()
            self._body = self.loop.call_later(self._bounds.head_seconds, self._drop)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words are not ours
        """Answer what is no HTTP/1.1, or has too large a head, with a problem."""
        status = getattr(sys.exception(), "error_status_hint", 400)
        if status == 431:
            detail = f"expected a request's line and headers in at most {self._bounds.head_bytes} bytes (PAIRMARK_MAX_HEADER_BYTES), found more; send less"
            self._refuse(431, "header-too-large", detail)
        else:
            self._refuse(400, "bad-request", "expected an HTTP/1.1 request, found something else; see RFC 9112")

    def _await_head(self) -> None:
        self._head = self.loop.call_later(self._bounds.head_seconds, self._too_slow)

    def _too_slow(self) -> None:
        self._head = None
        detail = f"expected a whole request head within {self._bounds.head_seconds:g} seconds (PAIRMARK_HEADER_SECONDS), found none; send the request again"
        self._refuse(408, "head-too-slow", detail)

    def _drop(self) -> None:
        self._body = None
        self.transport.close()

    def _refuse(self, status: int, code: str, detail: str) -> None:
        """Say what is wrong where that can still be said, and close."""
        if self.transport.is_closing():
            return
        latest = self._latest()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE) and (latest is None or latest.response_complete):
            content = canonical_bytes(problem(status, code, detail).model_dump(mode="json", by_alias=True, exclude_none=True))
            headers = [
                ("Content-Type", MEDIA_TYPE), ("Content-Length", str(len(content))), ("Cache-Control", "no-store"), ("Connection", "close"),
                *([("Retry-After", "5")] if status == 503 else []),
            ]  # fmt: skip
            reason = HTTPStatus(status).phrase.encode()
            for event in (h11.Response(status_code=status, headers=headers, reason=reason), h11.Data(data=content), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _stop(self, *, head: bool = False) -> None:
        """Let no time run for a body, nor for a head where that is over too."""
        if self._body is not None:
            self._body.cancel()
            self._body = None
        if head and self._head is not None:
            self._head.cancel()
            self._head = None

"""Answers that are files of the store: held for as long as they are being sent."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from fastapi.responses import FileResponse
from starlette.types import Receive, Scope, Send


class StoredFile(FileResponse):
    """A file that a context gives; it is at hand before the first byte is sent, and let go after the last or a broken connection."""

    def __init__(self, given: AbstractContextManager[Path], headers: Mapping[str, str], media_type: str) -> None:
        self._stack = ExitStack()
        super().__init__(self._stack.enter_context(given), 200, headers, media_type)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._stack:
            await super().__call__(scope, receive, send)

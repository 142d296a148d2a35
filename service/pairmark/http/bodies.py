"""Reading bodies: bounded in size and time, of the declared type, documents by the strict reader only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Annotated, Any, TypeVar

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from pairmark.adapters.ledger_store import availability
from pairmark.adapters.ledgers.decompress import Encoding
from pairmark.adapters.ledgers.ingest import Kind, LedgerFormat
from pairmark.domain.documents.base import Document, read_document
from pairmark.domain.errors import Malformed, shown
from pairmark.http.content_digest import ContentDigest
from pairmark.http.documented import is_optional
from pairmark.http.services import WithServices
from pairmark.http.settings import MIB

DocumentT = TypeVar("DocumentT", bound=Document)

LEDGER_TYPES: dict[str, Kind] = {"application/x-ndjson": "jsonl", "application/vnd.apache.parquet": "parquet"}
ENCODINGS: tuple[Encoding, ...] = ("identity", "gzip", "zstd")


@dataclass(frozen=True)
class JsonBody:
    """The bytes of a JSON body, not parsed yet."""

    data: bytes

    def read(self, model: type[DocumentT]) -> tuple[DocumentT, dict[str, Any]]:
        """The document in it, and its value as written."""
        return read_document(model, self.data)


async def json_body(request: Request, services: WithServices) -> JsonBody:
    """The body of a request that carries a JSON document. Where the call asks for none (`json_of(..., required=False)`), no bytes are `{}`."""
    optional = is_optional(request.scope["route"])
    if not optional:
        _require_json(request)
    limit = services.settings.max_document_bytes
    parts = [part async for part in parts_of(request, limit, "PAIRMARK_MAX_DOCUMENT_BYTES", services.settings.body_seconds)]
    data = b"".join(parts)
    if optional and not data:
        return JsonBody(b"{}")
    _require_json(request)
    return JsonBody(data)


def _require_json(request: Request) -> None:
    kind = media_type_of(request)
    if kind != "application/json":
        raise Malformed("unsupported-media-type", f"expected Content-Type application/json, found {shown(kind)}", remedy="send JSON")
    _encoding(request, ("identity",))


WithJson = Annotated[JsonBody, Depends(json_body)]


@dataclass(frozen=True)
class SpooledLedger:
    """A ledger's body in a nameless file that vanishes with its last handle, read from its beginning."""

    file: IO[bytes]
    form: LedgerFormat


async def spool_ledger(request: Request, room: Callable[[], IO[bytes]], limit: int, seconds: float) -> SpooledLedger:
    """Take a ledger's body to a file of `room`, so that a slow sender holds no thread and nothing but whole bodies is read.

    Raises:
        Malformed: of another type or encoding, too large, or too slow.
        ClientDisconnect: the sender went away.
        Unavailable: there is no room for it.
    """
    kind = media_type_of(request)
    if kind not in LEDGER_TYPES:
        raise Malformed(
            "unsupported-media-type", f"expected Content-Type {' or '.join(LEDGER_TYPES)}, found {shown(kind)}",
            remedy="send a ledger in one of these",
        )
    encoding = _encoding(request, ENCODINGS)
    file = await run_in_threadpool(room)
    try:
        waiting: list[bytes] = []
        size = 0
        async for part in parts_of(request, limit, "PAIRMARK_MAX_UPLOAD_BYTES", seconds):
            waiting.append(part)
            size += len(part)
            if size >= MIB:
                await run_in_threadpool(_write, file, waiting)
                waiting, size = [], 0
        await run_in_threadpool(_write, file, waiting)
        await run_in_threadpool(file.seek, 0)
    except BaseException:
        with suppress(OSError):  # what is buffered finds no room either
            file.close()
        raise
    return SpooledLedger(file, LedgerFormat(LEDGER_TYPES[kind], encoding))


def _write(file: IO[bytes], parts: list[bytes]) -> None:
    with availability():
        file.write(b"".join(parts))
        file.flush()


async def parts_of(request: Request, limit: int, setting: str, seconds: float) -> AsyncIterator[bytes]:
    """The parts of a body as they come, at most `limit` bytes in all; after the last one it is the declared body, or refused.

    Raises:
        Malformed: too large, too slow, or not what its Content-Digest says.
        ClientDisconnect: the sender went away.
    """
    digest = ContentDigest.of(request)
    refused = Malformed("too-large", f"expected a body of at most {limit} bytes ({setting}), found more", remedy="send less, or ask the operator for more")
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared) > limit:
        raise refused
    stream = request.stream()
    size = 0
    while True:
        try:
            async with asyncio.timeout(seconds):
                part = await anext(stream, None)
        except TimeoutError:
            raise Malformed(
                "body-too-slow", f"expected the next part of the body within {seconds:g} seconds (PAIRMARK_BODY_SECONDS), found none",
                remedy="send the request again",
            ) from None
        if part is None:
            digest.require()
            return
        size += len(part)
        if size > limit:
            raise refused
        digest.update(part)
        yield part


def media_type_of(request: Request) -> str:
    """The type of a body, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _encoding(request: Request, allowed: tuple[Encoding, ...]) -> Encoding:
    found = request.headers.get("content-encoding", "identity").strip().lower()
    for one in allowed:
        if found == one:
            return one
    raise Malformed("unsupported-encoding", f"expected Content-Encoding {', '.join(allowed)}, found {shown(found)}", remedy="send it so")

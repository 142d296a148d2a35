"""Answers: canonical JSON, entity tags, long life for what never changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request, Response

from pairmark.app.answer_once import Answered
from pairmark.app.ports import KeptAnswer
from pairmark.domain.canonical import canonical_bytes

IMMUTABLE = "public, max-age=31536000, immutable"
CHANGING = "no-cache"


def kept_json(status: int, value: Any, headers: Mapping[str, str] | None = None) -> KeptAnswer:
    """An answer to a POST, to be given now and kept under its key."""
    return KeptAnswer(status, {"Content-Type": "application/json", "Cache-Control": "no-store", **(headers or {})}, canonical_bytes(value))


def sent(answered: Answered) -> Response:
    """A kept answer as a response; `Idempotency-Replayed` says that it was given before."""
    headers = dict(answered.answer.headers)
    if answered.replayed:
        headers["Idempotency-Replayed"] = "true"
    return Response(answered.answer.body, answered.answer.status, headers)


def changing_json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer that may be another one tomorrow."""
    return Response(canonical_bytes(value), status, {"Cache-Control": CHANGING, **(headers or {})}, "application/json")


def immutable(request: Request, tag: str, content: bytes, media_type: str = "application/json", headers: Mapping[str, str] | None = None) -> Response:
    """An answer that never changes, with its digest as entity tag; 304 if the client has it."""
    return not_modified(request, tag, headers) or Response(content, 200, immutable_headers(tag, headers), media_type)


def immutable_headers(tag: str, headers: Mapping[str, str] | None = None) -> dict[str, str]:
    """Headers of what never changes."""
    return {"ETag": f'"{tag}"', "Cache-Control": IMMUTABLE, **(headers or {})}


def not_modified(request: Request, tag: str, headers: Mapping[str, str] | None = None) -> Response | None:
    """304 if the request says that it has `tag` (RFC 9110, 13.1.2: weak comparison)."""
    said = request.headers.get("if-none-match")
    if said is None:
        return None
    has = {part.strip().removeprefix("W/") for part in said.split(",")}
    return Response(status_code=304, headers=immutable_headers(tag, headers)) if "*" in has or f'"{tag}"' in has else None

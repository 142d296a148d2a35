"""Every error as `application/problem+json` (RFC 9457), with a stable code and the places it stands at."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from pairmark.adapters.telemetry.bound import bound_ids
from pairmark.app.comparison.refusals import NotComparable
from pairmark.app.errors import (
    ConflictAt,
    InFlight,
    NotCurrent,
    NotFoundAt,
    NotPermitted,
    NotSignedIn,
    TooManyRequests,
    Unavailable,
)
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.problem import Problem, ProblemItem
from pairmark.domain.errors import Conflict, Malformed, NotFound, PairmarkError, one_line, shown

MEDIA_TYPE = "application/problem+json"

STATUS_OF_CODE: Mapping[str, int] = {
    "not-json": 400, "not-utf8": 400, "byte-order-mark": 400, "not-finite": 400, "blank-line": 400, "bad-compression": 400,
    "truncated": 400, "trailing-data": 400, "content-digest-mismatch": 400, "bad-content-digest": 400,
    "body-too-slow": 408, "not-acceptable": 406, "too-large": 413, "unsupported-media-type": 415, "unsupported-encoding": 415,
}
"""Statuses of malformed input; every other code is well-formed but invalid: 422."""

STATUS_OF_UNAVAILABLE: Mapping[str, int] = {"store-full": 507}
"""Statuses of what cannot be served now; every other code is 503."""

CODE_OF_STATUS: Mapping[int, str] = {404: "no-such-resource", 405: "method-not-allowed", 413: "too-large", 415: "unsupported-media-type"}


class ProblemResponse(Response):
    """A problem as an answer, with the id of the request that is being worked on."""

    media_type = MEDIA_TYPE

    def __init__(self, problem: Problem, headers: Mapping[str, str] | None = None) -> None:
        value = {**problem.model_dump(mode="json", by_alias=True, exclude_none=True), **_request()}
        super().__init__(canonical_bytes(value), problem.status, {"Cache-Control": "no-store", **(headers or {})})


def _request() -> dict[str, str]:
    """Where the middleware stands around this, what the log calls this request."""
    found = bound_ids().get("request_id")
    return {} if found is None else {"request_id": found}


def problem(
    status: int, code: str, detail: str, errors: tuple[ProblemItem, ...] = (), instance: str | None = None, **extensions: Any
) -> Problem:
    """A problem; `type` and `title` follow from code and status."""
    return Problem.model_validate(
        {
            "type": f"urn:pairmark:problem:{code}", "title": HTTPStatus(status).phrase, "status": status,
            "detail": one_line(detail), "code": code, "instance": instance, "errors": errors, **extensions,
        }
    )


def problem_of(error: PairmarkError, instance: str | None = None) -> Problem:
    """The problem that an error of Pairmark's own is shown as."""
    if isinstance(error, Malformed):
        status, items = STATUS_OF_CODE.get(error.code, 422), _items_of(error)
    elif isinstance(error, NotFound):
        pointer = error.pointer if isinstance(error, NotFoundAt) else None
        status, items = 404, () if pointer is None else (ProblemItem(pointer=pointer, detail=one_line(error.message)),)
    elif isinstance(error, Conflict):
        places = error.places if isinstance(error, ConflictAt) else ()
        status, items = 409, tuple(ProblemItem(pointer=place.pointer, detail=one_line(place.detail)) for place in places)
    elif isinstance(error, Unavailable):
        status, items = STATUS_OF_UNAVAILABLE.get(error.code, 503), ()
    elif isinstance(error, NotCurrent):
        status, items = 428 if error.code == "if-match-missing" else 412, ()
    elif isinstance(error, NotSignedIn | NotPermitted | TooManyRequests):
        status, items = {NotSignedIn: 401, NotPermitted: 403, TooManyRequests: 429}[type(error)], ()
    else:
        status, items = 500, ()
    message, remedy = getattr(error, "message", str(error)), getattr(error, "remedy", None)
    extensions = error.extensions if isinstance(error, NotComparable) else {}
    return problem(status, error.code, f"{message}; {remedy}" if remedy else message, items, instance, **extensions)


def _items_of(error: Malformed) -> tuple[ProblemItem, ...]:
    if error.pointer is None and error.line is None:
        return ()
    return (ProblemItem(pointer=error.pointer, line=error.line, detail=one_line(error.message)),)


def crash_problem() -> Problem:
    """What is said of a crash: nothing of its inside."""
    return problem(500, "internal-error", "expected to answer this request, found a fault of the service; it is in the log, report it")


def add_problem_handlers(app: FastAPI) -> None:
    """Show every error of this application as a problem."""
    app.add_exception_handler(PairmarkError, _on_pairmark_error)
    app.add_exception_handler(RequestValidationError, _on_bad_parameters)
    app.add_exception_handler(HTTPException, on_http_exception)
    app.add_exception_handler(ClientDisconnect, _on_disconnect)


def _instance(request: Request) -> str:
    return one_line(request.url.path, 500)


async def _on_pairmark_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, PairmarkError):
        raise error
    headers: dict[str, str] = {}
    if isinstance(error, InFlight | Unavailable | TooManyRequests):
        headers["Retry-After"] = str(error.retry_after)
    if isinstance(error, NotSignedIn):
        headers["WWW-Authenticate"] = 'Bearer realm="pairmark"'
    found = problem_of(error, _instance(request))
    if found.status in (408, 413):
        headers["Connection"] = "close"  # the rest of the body is not read
    return ProblemResponse(found, headers)


async def _on_bad_parameters(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    return ProblemResponse(bad_parameters(error, _instance(request)))


def bad_parameters(error: RequestValidationError, instance: str | None = None) -> Problem:
    """The problem of parameters that a call does not take so."""
    items = tuple(ProblemItem(detail=_said_of(entry)) for entry in error.errors()[:20])
    return problem(422, "invalid-parameter", items[0].detail, items, instance)


def _said_of(entry: Mapping[str, Any]) -> str:
    place, *path = (str(part) for part in entry["loc"])
    name = one_line(".".join(path), 100)
    if entry["type"] == "missing":
        return f"expected the {place} parameter `{name}`, found none"
    if entry["type"] == "extra_forbidden":
        return f"expected only the parameters of this call, found `{name}`"
    message = str(entry["msg"]).removeprefix("Value error, ")
    return one_line(f"{place} parameter `{name}`: {message}, found {shown(entry.get('input'))}", 500)


async def on_http_exception(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return ProblemResponse(http_problem(request, error), error.headers)


def http_problem(request: Request, error: HTTPException) -> Problem:
    """The problem of a path or method that is not there."""
    code = CODE_OF_STATUS.get(error.status_code, "bad-request")
    if error.status_code == 404:
        detail = f"expected the path of a resource, found {shown(request.url.path)}; see /openapi.json"
    elif error.status_code == 405:
        detail = f"expected a method that this resource has, found {shown(request.method)}; see /openapi.json"
    else:
        detail = str(error.detail)
    return problem(error.status_code, code, detail, instance=_instance(request))


async def _on_disconnect(request: Request, _error: Exception) -> Response:
    detail = "expected the whole body, found the connection closed; nothing was stored"
    return ProblemResponse(problem(400, "body-incomplete", detail, instance=_instance(request)))

"""What calls do, without doing it: generators that yield what is to be sent or waited for, and are given what came back.

A connection carries the steps out, waiting or awaiting; everything that can be decided is decided here, once for both.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Generic, TypeVar
from uuid import uuid4

import httpx
from pydantic import BaseModel, ValidationError

from pairmark.client.errors import NoAnswer, ProblemError
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.problem import Problem
from pairmark.domain.errors import Malformed
from pairmark.domain.strict_json import parse
from pairmark.http.content_digest import HEADER, content_digest

ModelT = TypeVar("ModelT", bound=BaseModel)
T = TypeVar("T")

TRIES = 4
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 15.0
PATIENCE_SECONDS = 90.0
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Reply(Generic[ModelT]):
    """An answer as a model and as it was written. `new` says that this call made what it shows; `tag` is its `ETag`, if it has one."""

    model: ModelT
    value: dict[str, Any]
    new: bool
    tag: str | None = None


@dataclass(frozen=True)
class Call:
    """A request. `content` gives the body afresh for every try; a successful answer's body goes to `into` where that is given.

    `patience` is for how many seconds to ask again while the service says that it is busy with this or other work.
    """

    method: str
    path: str
    content: Callable[[], bytes | Iterator[bytes]] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    patience: float = PATIENCE_SECONDS
    into: IO[bytes] | None = None

    @property
    def repeatable(self) -> bool:
        """Whether doing it twice is doing it once, so that it may be sent again when nobody knows whether it arrived."""
        return self.method in ("GET", "PUT", "DELETE") or "Idempotency-Key" in self.headers


@dataclass(frozen=True)
class Pause:
    """Wait for so many seconds."""

    seconds: float


Steps = Generator[Call | Pause, httpx.Response | None, T]


def get(path: str, parameters: Mapping[str, Any] | None = None) -> Call:
    """A call that reads; parameters that are None are left out."""
    return Call("GET", path, parameters={name: value for name, value in (parameters or {}).items() if value is not None})


def post(path: str, body: bytes, key: str | None = None, patience: float = PATIENCE_SECONDS) -> Call:
    """A call that sends a document under a key, a new one unless it is given."""
    return _sending("POST", path, body, {"Idempotency-Key": uuid4().hex if key is None else key}, patience)


def put(path: str, body: bytes, patience: float = PATIENCE_SECONDS) -> Call:
    """A call that sends the document that is to be there."""
    return _sending("PUT", path, body, {}, patience)


def patch(path: str, body: bytes, tag: str | None) -> Call:
    """A call that changes what has this tag."""
    return _sending("PATCH", path, body, {} if tag is None else {"If-Match": tag}, PATIENCE_SECONDS)


def _sending(method: str, path: str, body: bytes, headers: Mapping[str, str], patience: float) -> Call:
    digest = content_digest(hashlib.sha256(body).digest())
    return Call(method, path, lambda: body, {**JSON, HEADER: digest, **headers}, patience=patience)


def ask(call: Call, model: type[ModelT]) -> Steps[Reply[ModelT]]:
    """The answer to a call.

    Raises:
        ProblemError: the service refused.
        NoAnswer: nobody answered, or not a Pairmark service.
    """
    response = yield from answered(call)
    value = _json_of(response)
    try:
        read = model.model_validate_json(canonical_bytes(value))
    except ValidationError:
        raise NoAnswer(
            "bad-answer", f"expected the answer of a Pairmark service to {call.method} {call.path}, found another one",
            "check the URL and the versions",
        ) from None
    made = response.status_code == 201 or (response.status_code == 202 and response.headers.get("pairmark-queued") != "before")
    return Reply(read, value, made, response.headers.get("etag"))


def asked(call: Call, model: type[ModelT]) -> Steps[ModelT]:
    """The model alone."""
    return (yield from ask(call, model)).model


def fetch(path: str) -> Steps[bytes]:
    """The bytes under a path, as they are.

    Raises:
        ProblemError: the service refused.
        NoAnswer: nobody answered, or not a Pairmark service.
    """
    return (yield from answered(get(path))).content


def answered(call: Call) -> Steps[httpx.Response]:
    """A successful answer. A broken connection is tried again a few times where that is safe; a busy service, while patience lasts."""
    until, pause, breaks = time.monotonic() + call.patience, FIRST_PAUSE_SECONDS, 0
    while True:
        try:
            response = yield from _sent(call)
        except NoAnswer:
            breaks += 1
            if breaks == TRIES or not call.repeatable:
                raise
            wait = pause
        else:
            if response.status_code in (200, 201, 202):
                return response
            refusal = refusal_in(response)
            if not isinstance(refusal, ProblemError) or refusal.retry_after is None or not _may_ask_again(call, refusal.status):
                raise refusal
            wait = max(pause, refusal.retry_after)
            if time.monotonic() + wait > until:
                raise refusal
        yield Pause(wait * random.uniform(1.0, 1.25))  # noqa: S311 - jitter is no secret
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


def _may_ask_again(call: Call, status: int) -> bool:
    """Of 409 and 429 nothing was begun; after 503 the outcome may be unknown."""
    return status in (409, 429) or (status == 503 and call.repeatable)


def _sent(call: Call) -> Steps[httpx.Response]:
    response = yield call
    if response is None:
        raise TypeError("expected a connection to answer a call, found nothing")
    return response


def refusal_in(response: httpx.Response) -> ProblemError | NoAnswer:
    """What an answer that is no success says."""
    try:
        problem = Problem.model_validate_json(response.content)
    except ValidationError:
        return NoAnswer("bad-answer", f"expected a Pairmark service, found an answer with status {response.status_code}", "check the URL")
    said = response.headers.get("retry-after", "")
    return ProblemError(problem, float(said) if said.isascii() and said.isdigit() else None, response.headers.get("x-request-id"))


def _json_of(response: httpx.Response) -> dict[str, Any]:
    try:
        value = parse(response.content)
    except Malformed:
        value = None
    if not isinstance(value, dict):
        raise NoAnswer("bad-answer", "expected a JSON object from a Pairmark service, found something else", "check the URL")
    return value

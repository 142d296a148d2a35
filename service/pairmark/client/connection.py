"""One connection to a service: sends, repeats what is safe to repeat, and reads answers as models or problems."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from pairmark.client.errors import NoAnswer, ProblemError
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.problem import Problem
from pairmark.domain.errors import Malformed, one_line
from pairmark.domain.strict_json import parse

ModelT = TypeVar("ModelT", bound=BaseModel)

TRIES = 4
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 15.0


@dataclass(frozen=True)
class Reply(Generic[ModelT]):
    """An answer as a model and as it was written. `new` says that this call made what it shows; `tag` is its `ETag`, if it has one."""

    model: ModelT
    value: dict[str, Any]
    new: bool
    tag: str | None = None


@dataclass(frozen=True)
class Call:
    """A call that is safe to repeat. `content` gives the body afresh for every try.

    `patience` is for how many seconds to ask again while the service says that it is busy with this or other work.
    """

    method: str
    path: str
    content: Callable[[], bytes | Iterator[bytes]] | None = None
    headers: Mapping[str, str] | None = None
    parameters: Mapping[str, Any] | None = None
    patience: float = 30.0


class Connection:
    """A service at a base URL."""

    def __init__(self, base_url: str, *, timeout: float, transport: httpx.BaseTransport | None, key: str | None = None) -> None:
        if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
            raise Malformed("bad-key", "expected an API key of visible ASCII characters, found others", remedy="check PAIRMARK_API_KEY")
        said = {} if key is None else {"Authorization": f"Bearer {key}"}
        try:
            self.http = httpx.Client(
                base_url=base_url, timeout=timeout, transport=transport, follow_redirects=False, trust_env=False, headers=said
            )
        except (httpx.InvalidURL, ValueError) as problem:
            raise Malformed("bad-url", f"expected the URL of a service, found: {problem}", remedy="such as http://127.0.0.1:8000") from None

    def ask(self, call: Call, model: type[ModelT]) -> Reply[ModelT]:
        """The answer to a call.

        Raises:
            ProblemError: the service refused.
            NoAnswer: nobody answered, or not a Pairmark service.
        """
        response = self._repeated(call)
        if response.status_code not in (200, 201, 202):
            raise refusal_in(response)
        value = _json_of(response)
        try:
            return Reply(model.model_validate_json(canonical_bytes(value)), value, response.status_code in (201, 202), response.headers.get("etag"))
        except ValidationError:
            raise NoAnswer(
                "bad-answer", f"expected the answer of a Pairmark service to {call.method} {call.path}, found another one",
                "check the URL and the versions",
            ) from None

    def fetch(self, path: str, parameters: Mapping[str, Any] | None = None) -> bytes:
        """The bytes under a path, as they are.

        Raises:
            ProblemError: the service refused.
            NoAnswer: nobody answered, or not a Pairmark service.
        """
        response = self._repeated(Call("GET", path, parameters=parameters))
        if response.status_code != 200:
            raise refusal_in(response)
        return response.content

    def reaching(self) -> Reaching:
        """A context in which a broken connection is said in Pairmark's words."""
        return Reaching(str(self.http.base_url))

    def _repeated(self, call: Call) -> httpx.Response:
        """A broken connection is tried again a few times; a service that is busy, as long as the call's patience lasts."""
        until, pause, breaks = time.monotonic() + call.patience, FIRST_PAUSE_SECONDS, 0
        while True:
            body = None if call.content is None else call.content()
            try:
                with self.reaching():
                    response = self.http.request(call.method, call.path, content=body, headers=call.headers, params=call.parameters)
            except NoAnswer:
                breaks += 1
                if breaks == TRIES:
                    raise
            else:
                said = response.headers.get("retry-after", "")
                if response.status_code not in (409, 503) or not said.isdigit() or time.monotonic() >= until:
                    return response
                pause = max(pause, float(said))
            pause = min(pause, LONGEST_PAUSE_SECONDS)
            time.sleep(pause)
            pause *= 2


class Reaching:
    """Says in Pairmark's words that the service could not be reached."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(problem, httpx.HTTPError):
            raise NoAnswer(
                "no-service", f"expected a service at {self._base_url}, found: {one_line(str(problem), 200) or type(problem).__name__}",
                "start it with `pairmark serve`, or check the URL",
            ) from None


def refusal_in(response: httpx.Response) -> ProblemError | NoAnswer:
    """What an answer that is no success says."""
    try:
        return ProblemError(Problem.model_validate_json(response.content))
    except ValidationError:
        return NoAnswer("bad-answer", f"expected a Pairmark service, found an answer with status {response.status_code}", "check the URL")


def _json_of(response: httpx.Response) -> dict[str, Any]:
    try:
        value = parse(response.content)
    except Malformed:
        value = None
    if not isinstance(value, dict):
        raise NoAnswer("bad-answer", "expected a JSON object from a Pairmark service, found something else", "check the URL")
    return value

"""Connections to a service: they carry steps out, one waiting, one awaited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import IO, Any, TypeVar

import httpx

from pairmark.client.errors import NoAnswer
from pairmark.client.steps import Call, Pause, Steps
from pairmark.domain.errors import Malformed, one_line

T = TypeVar("T")


class Connection:
    """A service at a base URL, asked and waited for."""

    def __init__(self, base_url: str, *, timeout: float, transport: httpx.BaseTransport | None, key: str | None = None) -> None:
        try:
            self.http = httpx.Client(transport=transport, **_options(base_url, timeout, key))
        except (httpx.InvalidURL, ValueError) as problem:
            raise _bad_url(problem) from None

    def run(self, steps: Steps[T]) -> T:
        """What the steps come to."""
        answer: httpx.Response | None = None
        failed: NoAnswer | None = None
        try:
            while True:
                step = steps.send(answer) if failed is None else steps.throw(failed)
                answer = failed = None
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                    continue
                try:
                    answer = self._send(step)
                except httpx.HTTPError as problem:
                    failed = _no_service(self.http.base_url, problem)
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            steps.close()

    def _send(self, call: Call) -> httpx.Response:
        body = None if call.content is None else call.content()
        with self.http.stream(call.method, call.path, content=body, headers=call.headers, params=call.parameters or None) as response:
            if call.into is None or response.status_code != 200:
                response.read()
            else:
                _empty(call.into)
                for chunk in response.iter_bytes():
                    call.into.write(chunk)
        return response


class AsyncConnection:
    """A service at a base URL, asked and awaited."""

    def __init__(self, base_url: str, *, timeout: float, transport: httpx.AsyncBaseTransport | None, key: str | None = None) -> None:
        try:
            self.http = httpx.AsyncClient(transport=transport, **_options(base_url, timeout, key))
        except (httpx.InvalidURL, ValueError) as problem:
            raise _bad_url(problem) from None

    async def run(self, steps: Steps[T]) -> T:
        """What the steps come to."""
        answer: httpx.Response | None = None
        failed: NoAnswer | None = None
        try:
            while True:
                step = steps.send(answer) if failed is None else steps.throw(failed)
                answer = failed = None
                if isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                    continue
                try:
                    answer = await self._send(step)
                except httpx.HTTPError as problem:
                    failed = _no_service(self.http.base_url, problem)
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            steps.close()

    async def _send(self, call: Call) -> httpx.Response:
        given = None if call.content is None else call.content()
        body = given if given is None or isinstance(given, bytes) else _awaited(given)
        async with self.http.stream(call.method, call.path, content=body, headers=call.headers, params=call.parameters or None) as response:
            if call.into is None or response.status_code != 200:
                await response.aread()
            else:
                _empty(call.into)
                async for chunk in response.aiter_bytes():
                    call.into.write(chunk)
        return response


def _empty(file: IO[bytes]) -> None:
    """Forget what an earlier try left."""
    file.seek(0)
    file.truncate()


async def _awaited(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def _options(base_url: str, timeout: float, key: str | None) -> dict[str, Any]:
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise Malformed("bad-key", "expected an API key of visible ASCII characters, found others", remedy="check PAIRMARK_API_KEY")
    said = {} if key is None else {"Authorization": f"Bearer {key}"}
    return {"base_url": base_url, "timeout": timeout, "headers": said, "follow_redirects": False, "trust_env": False}


def _bad_url(problem: Exception) -> Malformed:
    return Malformed("bad-url", f"expected the URL of a service, found: {problem}", remedy="such as http://127.0.0.1:8000")


def _no_service(base_url: httpx.URL, problem: httpx.HTTPError) -> NoAnswer:
    return NoAnswer(
        "no-service", f"expected a service at {base_url}, found: {one_line(str(problem), 200) or type(problem).__name__}",
        "start it with `pairmark serve`, or check the URL",
    )

"""The real application on real files, called in the process or over loopback."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.problem import Problem
from pairmark.domain.strict_json import parse
from pairmark.domain.world import World
from pairmark.http.server import server_of
from pairmark.http.settings import Settings
from tests.databases import settings_of
from tests.service.door import TOKEN, opened, token_for

JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}


def settings_in(folder: Path, **settings: Any) -> Settings:
    """Settings of a service in `folder`, on the kind of database that is being tested."""
    return Settings(data_dir=folder, **{**settings_of(folder), **settings})


@dataclass(frozen=True)
class Service:
    """An application called without a network."""

    app: FastAPI

    @classmethod
    def at(cls, folder: Path, **settings: Any) -> Service:
        chosen = settings_in(folder, **settings)
        return cls(opened(chosen, token_for(chosen)))

    def call(self, method: str, path: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None, **rest: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://localhost") as client:
                return await client.request(method, path, content=body, headers=headers, **rest)

        return asyncio.run(ask())

    def get(self, path: str, headers: Mapping[str, str] | None = None, **parameters: Any) -> httpx.Response:
        return self.call("GET", path, headers=headers, params=parameters or None)

    def post(self, path: str, value: Any, **headers: str) -> httpx.Response:
        body = value if isinstance(value, bytes) else canonical_bytes(value)
        return self.call("POST", path, body=body, headers={**JSON, **{name.replace("_", "-"): text for name, text in headers.items()}})

    def put(self, path: str, value: Any) -> httpx.Response:
        return self.call("PUT", path, body=value if isinstance(value, bytes) else canonical_bytes(value), headers=JSON)

    def upload(self, run_id: str, ledger: bytes, **headers: str) -> httpx.Response:
        given = {**NDJSON, **{name.replace("_", "-"): text for name, text in headers.items()}}
        return self.call("PUT", f"/v1/runs/{run_id}/episodes", body=ledger, headers=given)

    def register(self, world: World) -> str:
        """Register a world's suite; its digest."""
        answer = self.post("/v1/suites", world.suite_manifest())
        assert answer.status_code in (200, 201), answer.text
        return str(answer.json()["digest"])

    def submit(self, world: World) -> dict[str, str]:
        """Register a world's suite and seal its runs; their ids by role."""
        self.register(world)
        return {role: self.seal(world.run(role), world.files()[f"{role}/episodes.jsonl"]) for role in world.sides}

    def seal(self, run: dict[str, Any], ledger: bytes) -> str:
        answer = self.post("/v1/runs", run)
        assert answer.status_code in (200, 201), answer.text
        run_id = str(answer.json()["id"])
        sealed = self.upload(run_id, ledger)
        assert sealed.status_code in (200, 201), sealed.text
        return run_id

    def certify(self, ids: Mapping[str, str], policy: str = "standard/1") -> httpx.Response:
        return self.post("/v1/certifications", {**ids, "policy": policy})


def problem_in(answer: httpx.Response, status: int, code: str) -> Problem:
    """The problem an answer is, which must have this status and code, and nothing of the service's inside."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    parse(answer.content)
    problem = Problem.model_validate_json(answer.content)
    assert (problem.status, problem.code) == (status, code)
    assert problem.type == f"urn:pairmark:problem:{code}"
    for inside in ("Traceback", 'File "', "sqlite", "psycopg", "postgres", "site-packages"):
        assert inside not in answer.text
    return problem


def announced(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run document as it is before the run: without results."""
    system = run["system"]
    return {
        **run, "finished_at": None, "episodes": None, "system": {**system, "model": {**system["model"], "served": None}}
    }


@contextlib.contextmanager
def listening(folder: Path, **settings: Any) -> Iterator[str]:
    """A real server on a free port of this machine, in a thread; its URL."""
    chosen = settings_in(folder, port=0, shutdown_seconds=5, **settings)
    server = server_of(chosen, opened(chosen, token_for(chosen)))
    server.config.log_config = None
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{_port_of(server, thread)}"
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def _port_of(server: uvicorn.Server, thread: threading.Thread) -> int:
    until = time.monotonic() + 30
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < until
        time.sleep(0.02)
    return int(server.servers[0].sockets[0].getsockname()[1])


class Process:
    """A server in a process of its own, which can be killed."""

    def __init__(self, folder: Path, log: Path, **environment: str) -> None:
        self.log = log
        code = "from tests.service.door import serve; serve()"
        token = token_for(settings_in(folder))
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code], stdout=out, stderr=out,
                env={
                    **os.environ, "PAIRMARK_DATA_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path),
                    **{f"PAIRMARK_{name.upper()}": str(value) for name, value in settings_of(folder).items()},
                    **({} if token is None else {TOKEN: token}), **environment,
                },
            )
        self.url = self._url()

    def _url(self) -> str:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            text = self.log.read_text()
            if "serves http://" in text:
                return "http://" + text.split("serves http://")[1].split()[0]
            assert self.process.poll() is None, text
            time.sleep(0.05)
        raise AssertionError("the server did not start in a minute")

    def kill(self) -> None:
        """As `kill -9` does."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """As an operator does."""
        self.process.terminate()
        return self.process.wait(30)

"""An S3-speaking server in a process of its own, and stores of both kinds."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from pairmark.adapters.ledgers.objects import FileObjectStore, ObjectStore
from pairmark.adapters.objects.opening import s3_place
from pairmark.adapters.objects.s3 import S3ObjectStore

MIB = 1024 * 1024


@dataclass(frozen=True)
class S3Server:
    """A server that is there for the whole session."""

    url: str

    def bucket(self) -> str:
        """A new, empty bucket's name."""
        name = f"ledgers-{uuid.uuid4().hex[:12]}"
        assert httpx.put(f"{self.url}/{name}", trust_env=False).status_code == 200
        return name

    def store_url(self, prefix: str = "a/prefix") -> str:
        return f"s3://{self.bucket()}/{prefix}?endpoint={self.url}&region=us-east-1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    port, log = free_port(), tmp_path_factory.mktemp("s3") / "log"
    code = f"import sys; from moto.server import main; sys.exit(main(['-H', '127.0.0.1', '-p', '{port}']))"
    with log.open("wb") as out, subprocess.Popen([sys.executable, "-W", "ignore", "-c", code], stdout=out, stderr=out) as running:
        try:
            server, until = S3Server(f"http://127.0.0.1:{port}"), time.monotonic() + 60
            while True:
                assert running.poll() is None, log.read_text()
                assert time.monotonic() < until, log.read_text()
                try:
                    httpx.get(f"{server.url}/moto-api/", trust_env=False)
                    break
                except httpx.TransportError:
                    time.sleep(0.05)
            yield server
        finally:
            running.terminate()
            running.wait(20)


@pytest.fixture
def s3(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The server, with credentials in the environment as an operator sets them."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "an-access-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-key")
    return s3_server


MakeStore = Callable[[], ObjectStore]


@pytest.fixture(params=["file", "s3"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeStore]:
    """Opens the same store again and again, as several servers do."""
    if request.param == "file":
        yield lambda: FileObjectStore(tmp_path / "store")
        return
    url = request.getfixturevalue("s3").store_url()
    made: list[S3ObjectStore] = []

    def opened() -> ObjectStore:
        made.append(S3ObjectStore(s3_place(url), tmp_path / "scratch", copies_limit=4 * MIB))
        return made[-1]

    yield opened
    for each in made:
        each.close()

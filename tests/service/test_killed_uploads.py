"""`kill -9` of the service in the middle of a piece of an upload: once it is back the client goes on, and what is sealed is what was sent."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from itertools import pairwise
from pathlib import Path

import httpx

from pairmark.client import Client
from pairmark.client.ledger import outgoing_ledger
from pairmark.domain.canonical import canonical_bytes
from pairmark.http.settings import MIB
from tests.databases import SQLITE_ONLY, rows_of
from tests.service.door import PORT
from tests.service.serving import Process
from tests.service.wide import wide

PIECE_BYTES = 2 * MIB
AWAY_SECONDS = 3.0
"""Longer than a connection that breaks is tried again for."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


class Supervised:
    """A server on one port that is killed once, when it has kept part of a piece, and started again a while later."""

    def __init__(self, folder: Path, log: Path) -> None:
        self._folder, self._log, self._port = folder, log, str(free_port())
        self.server = self._start()
        self.kept = 0
        """Bytes that it had taken when it was killed."""
        self._again: threading.Thread | None = None

    def _start(self) -> Process:
        return Process(self._folder, self._log, **{PORT: self._port})

    def progress(self, sent: int, _total: int) -> None:
        """Told by the client as it sends; kills in the second piece."""
        if self._again is not None or sent < PIECE_BYTES + MIB + MIB // 2:
            return
        content, until = next((self._folder / "uploads").glob("*/content")), time.monotonic() + 60
        while content.stat().st_size <= PIECE_BYTES:
            assert time.monotonic() < until
            time.sleep(0.01)
        self.server.kill()
        self.kept = content.stat().st_size
        self._again = threading.Thread(target=self._start_again)
        self._again.start()

    def _start_again(self) -> None:
        time.sleep(AWAY_SECONDS)
        self.server = self._start()

    def end(self) -> None:
        if self._again is not None:
            self._again.join(90)
        self.server.kill()


@SQLITE_ONLY
def test_killed_in_the_middle_of_a_piece_the_upload_goes_on(tmp_path: Path) -> None:
    folder, world = tmp_path / "data", wide(seed=1)
    ledger_bytes = world.files()["attacked/episodes.jsonl"]
    (tmp_path / "episodes.jsonl").write_bytes(ledger_bytes)
    supervised = Supervised(folder, tmp_path / "log")
    told: list[int] = []

    def progress(sent: int, total: int) -> None:
        told.append(sent)
        supervised.progress(sent, total)

    try:
        url = supervised.server.url
        with Client(url) as client, outgoing_ledger(tmp_path / "episodes.jsonl") as ledger:
            assert ledger.packed.size > 2 * PIECE_BYTES
            client.register_suite(canonical_bytes(world.suite_manifest()))
            run = client.announce_run(canonical_bytes(world.run("attacked"))).model.id
            sealed = client.upload_episodes(run, ledger, progress=progress, piece_bytes=PIECE_BYTES).model
            assert PIECE_BYTES < supervised.kept < 2 * PIECE_BYTES
            back = next(later for before, later in pairwise(told) if later < before)
            assert supervised.kept < back < supervised.kept + MIB  # it went on from there, and sent nothing twice
            assert sealed.state == "sealed"
            assert sealed.episodes is not None
            assert sealed.episodes.digest == ledger.digest == f"sha256:{hashlib.sha256(ledger_bytes).hexdigest()}"
        read = httpx.get(f"{url}/v1/runs/{run}/episodes?format=ndjson", timeout=60).content
        assert hashlib.sha256(read).hexdigest() == hashlib.sha256(ledger_bytes).hexdigest()
        assert rows_of(folder, f"SELECT count(*) FROM run_seals WHERE run = '{run}'") == [(1,)]
        assert list((folder / "uploads").iterdir()) == []
    finally:
        supervised.end()

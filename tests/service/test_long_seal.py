"""A seal that takes longer than the client's patience: the patience begins when it breaks, so a restart after that is outlived."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pairmark.client import Client, NoAnswer
from pairmark.client.ledger import outgoing_ledger
from pairmark.domain.world import World
from pairmark.http.upload_models import OFFSET
from tests.databases import SQLITE_ONLY
from tests.service.serving import Service

PATIENCE_SECONDS = 0.6
PIECE_BYTES = 500
BREAKS = 6
"""More than the tries of a single call."""


@contextmanager
def breaking(run: bytes, slow: str, breaks: float) -> Iterator[str]:
    """A service that takes longer than the patience for its first seal or last piece, is away then, and seals once it is back."""
    asked = {"broken": 0}
    upload: dict[str, Any] = {"id": "upload-" + "0" * 32, "run": "run-0", "expires_at": "2026-12-01T00:00:00+00:00", "offset": 0}

    class Breaking(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path.endswith("/uploads"):
                upload.update({key: json.loads(body)[key] for key in ("size", "digest")})
            is_slow = slow == "seal" and self.path.endswith("/seal")
            if (is_slow or asked["broken"]) and asked["broken"] < breaks:
                self.broken(wait=is_slow)
                return
            self.answer(201, run if self.path.endswith("/seal") else json.dumps(upload).encode())

        def do_PATCH(self) -> None:
            size = int(self.headers["Content-Length"])
            self.rfile.read(size)
            end = int(self.headers[OFFSET]) + size
            if slow == "piece" and end == upload["size"] and asked["broken"] < breaks:
                self.broken(wait=True)
                return
            upload["offset"] = end
            self.answer(200, json.dumps(upload).encode())

        def broken(self, *, wait: bool) -> None:
            if wait and not asked["broken"]:
                time.sleep(1.5 * PATIENCE_SECONDS)
            asked["broken"] += 1
            self.close_connection = True

        def answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            return None

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Breaking)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@SQLITE_ONLY
@pytest.mark.parametrize("slow", ["seal", "piece"])
def test_what_breaks_after_longer_than_the_patience_is_asked_again(
    service: Service, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    monkeypatch.setattr("pairmark.client.steps.PATIENCE_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr("pairmark.client.steps.FIRST_PAUSE_SECONDS", 0.01)
    run = service.get(f"/v1/runs/{service.submit(world)['attacked']}")
    (tmp_path / "episodes.jsonl").write_bytes(world.files()["attacked/episodes.jsonl"])
    with outgoing_ledger(tmp_path / "episodes.jsonl") as ledger:
        assert ledger.packed.size > PIECE_BYTES
        with breaking(run.content, slow, BREAKS) as url, Client(url) as client:
            sealed = client.upload_episodes("run-0", ledger, piece_bytes=PIECE_BYTES).model
            assert sealed.episodes is not None
            assert sealed.episodes.digest == ledger.digest
        with breaking(run.content, slow, float("inf")) as url, Client(url) as client, pytest.raises(NoAnswer) as away:
            client.upload_episodes("run-0", ledger, piece_bytes=PIECE_BYTES)
        assert away.value.code == "no-service"

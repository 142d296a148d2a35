"""What is cut off leaves nothing behind: a dropped connection, a slow sender, a killed server."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.world import World
from tests.databases import POSTGRESQL_SLOW, rows_of, url_of
from tests.service.serving import JSON, NDJSON, Process, listening, problem_in

pytestmark = POSTGRESQL_SLOW


@pytest.fixture(scope="module")
def world() -> World:
    """A ledger of several megabytes."""
    return World.of(tasks=100, injections=60, groups=1)


def announce(url: str, world: World) -> str:
    assert httpx.post(f"{url}/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON).status_code in (200, 201)
    answer = httpx.post(f"{url}/v1/runs", content=canonical_bytes(world.run("attacked")), headers=JSON)
    assert answer.status_code in (200, 201)
    return str(answer.json()["id"])


def half_sent(url: str, run_id: str, ledger: bytes) -> socket.socket:
    """A connection on which half a ledger was sent."""
    address = urlsplit(url)
    connection = socket.create_connection((address.hostname, address.port), timeout=20)
    head = f"PUT /v1/runs/{run_id}/episodes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: {len(ledger)}\r\n\r\n"
    connection.sendall(head.encode() + ledger[: len(ledger) // 2])
    return connection


def until_closed(connection: socket.socket) -> bytes:
    """All that the server still says on a connection."""
    said = b""
    with connection:
        while part := connection.recv(65_536):
            said += part
    return said


def nothing_of_it(url: str, folder: Path, run_id: str) -> None:
    assert httpx.get(f"{url}/v1/runs/{run_id}").json()["state"] == "announced"
    problem_in(httpx.get(f"{url}/v1/runs/{run_id}/episodes"), 404, "no-episodes")
    assert [path for path in (folder / "objects").rglob("*") if path.is_file()] == []


def test_a_connection_that_drops_leaves_nothing(tmp_path: Path, world: World) -> None:
    folder, ledger = tmp_path / "data", world.files()["attacked/episodes.jsonl"]
    with listening(folder) as url:
        run_id = announce(url, world)
        for _ in range(3):
            half_sent(url, run_id, ledger).close()
        time.sleep(0.3)
        nothing_of_it(url, folder, run_id)
        assert list((folder / "scratch").iterdir()) == []
        assert httpx.put(f"{url}/v1/runs/{run_id}/episodes", content=ledger, headers=NDJSON, timeout=60).status_code == 201


def test_a_sender_that_stops_sending_is_told_so(tmp_path: Path, world: World) -> None:
    folder, ledger = tmp_path / "data", world.files()["attacked/episodes.jsonl"]
    with listening(folder, body_seconds=1) as url:
        run_id = announce(url, world)
        connection = half_sent(url, run_id, ledger)
        answer = until_closed(connection)
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"body-too-slow" in answer
        nothing_of_it(url, folder, run_id)


def test_an_upload_in_chunks_without_a_length_is_bounded_too(tmp_path: Path, world: World) -> None:
    with listening(tmp_path / "data", max_upload_bytes=100_000) as url:
        run_id = announce(url, world)

        def endless() -> Iterator[bytes]:
            for _ in range(10_000):
                yield b" " * 10_000

        problem_in(httpx.put(f"{url}/v1/runs/{run_id}/episodes", content=endless(), headers=NDJSON, timeout=30), 413, "too-large")


def test_a_server_killed_while_a_ledger_comes_in_leaves_nothing_half_visible(tmp_path: Path, world: World) -> None:
    folder, ledger = tmp_path / "data", world.files()["attacked/episodes.jsonl"]
    server = Process(folder, tmp_path / "log")
    try:
        run_id = announce(server.url, world)
        connection = half_sent(server.url, run_id, ledger)
        time.sleep(0.2)
        server.kill()
        connection.close()
        server = Process(folder, tmp_path / "log")
        nothing_of_it(server.url, folder, run_id)
        assert httpx.put(f"{server.url}/v1/runs/{run_id}/episodes", content=ledger, headers=NDJSON, timeout=60).status_code == 201
    finally:
        server.kill()


def test_a_server_killed_at_any_moment_of_an_upload_keeps_what_it_acknowledged(tmp_path: Path, world: World) -> None:
    folder, ledger = tmp_path / "data", world.files()["attacked/episodes.jsonl"]
    for number, delay in enumerate((0.0, 0.05, 0.2)):
        server = Process(folder, tmp_path / "log")
        mine = world.set("attacked", 1, duration_ms=number)
        ledger = mine.files()["attacked/episodes.jsonl"]
        answers: list[int] = []
        try:
            run_id = announce(server.url, mine)

            def send(url: str = server.url, run_id: str = run_id, ledger: bytes = ledger, answers: list[int] = answers) -> None:
                try:
                    answers.append(httpx.put(f"{url}/v1/runs/{run_id}/episodes", content=ledger, headers=NDJSON, timeout=60).status_code)
                except httpx.HTTPError:
                    answers.append(0)

            sending = threading.Thread(target=send)
            sending.start()
            time.sleep(delay)
            server.kill()
            sending.join(60)
        finally:
            server.kill()
        whole(folder)
        server = Process(folder, tmp_path / "log")
        try:
            state: Any = httpx.get(f"{server.url}/v1/runs/{run_id}").json()["state"]
            if answers == [201]:
                assert state == "sealed"
            read = httpx.get(f"{server.url}/v1/runs/{run_id}/episodes?format=ndjson", timeout=60)
            if state == "sealed":
                assert read.content == ledger
            else:
                problem_in(read, 404, "no-episodes")
            again = httpx.put(f"{server.url}/v1/runs/{run_id}/episodes", content=ledger, headers=NDJSON, timeout=60)
            assert again.status_code == (200 if state == "sealed" else 201)
        finally:
            server.kill()


def whole(folder: Path) -> None:
    """The database is sound, and every sealed run has its ledger."""
    if url_of(folder).startswith("sqlite"):
        assert rows_of(folder, "PRAGMA integrity_check") == [("ok",)]
        assert rows_of(folder, "PRAGMA foreign_key_check") == []
    ledgers = [row[0].removeprefix("sha256:") for row in rows_of(folder, "SELECT ledger FROM run_seals")]
    for ledger in ledgers:
        assert (folder / "objects" / ledger[:2] / ledger[2:]).is_file()


def test_a_server_that_is_told_to_stop_finishes_what_it_does(tmp_path: Path, world: World) -> None:
    folder, ledger = tmp_path / "data", world.files()["attacked/episodes.jsonl"]
    server = Process(folder, tmp_path / "log")
    try:
        run_id = announce(server.url, world)
        connection = half_sent(server.url, run_id, ledger)
        time.sleep(0.2)
        server.process.terminate()
        time.sleep(0.2)
        connection.sendall(ledger[len(ledger) // 2 :])
        answer = until_closed(connection)
        assert answer.startswith(b"HTTP/1.1 201"), answer
        assert server.process.wait(30) in (0, -15)
    finally:
        server.kill()
    assert "Traceback" not in (tmp_path / "log").read_text()
    whole(folder)

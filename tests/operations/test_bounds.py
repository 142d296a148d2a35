"""What one peer may hold of the real server: slow heads, large heads, bodies that trickle or never come, too many connections."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.world import World
from tests.operations.processes import Server
from tests.service.serving import JSON

HEAD_SECONDS, BODY_SECONDS, UPLOAD_SECONDS = 2, 2, 6


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(
        tmp_path_factory.mktemp("bounded"), PAIRMARK_HEADER_SECONDS=str(HEAD_SECONDS), PAIRMARK_BODY_SECONDS=str(BODY_SECONDS),
        PAIRMARK_UPLOAD_SECONDS=str(UPLOAD_SECONDS), PAIRMARK_MAX_HEADER_BYTES="8192", PAIRMARK_MAX_CONNECTIONS="40",
    ) as running:  # fmt: skip
        yield running
        running.stop()
        assert "Traceback" not in running.log()


@pytest.fixture(scope="module")
def run_id(server: Server) -> str:
    world = World()
    httpx.post(f"{server.url}/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON, trust_env=False).raise_for_status()
    made = httpx.post(f"{server.url}/v1/runs", content=canonical_bytes(world.run("benign")), headers=JSON, trust_env=False)
    return str(made.raise_for_status().json()["id"])


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=30)


def until_closed(connection: socket.socket) -> bytes:
    said = b""
    with connection:
        try:
            while part := connection.recv(65_536):
                said += part
        except ConnectionResetError:
            pass
    return said


def trickle(connection: socket.socket, piece: bytes, every: float, at_most: float) -> float:
    """Send the piece again and again until the peer hangs up; how many seconds that took."""
    started = time.monotonic()
    connection.settimeout(every)
    while time.monotonic() - started < at_most:
        try:
            connection.sendall(piece)
            if connection.recv(65_536) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    connection.close()
    return time.monotonic() - started


def problem_of(answer: bytes) -> tuple[int, dict[str, Any]]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head.lower(), answer
    return int(head.split()[1]), json.loads(body)


def test_a_head_that_does_not_come_is_answered_and_closed(server: Server) -> None:
    for begun in (b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"):
        connection, started = connected(server), time.monotonic()
        connection.sendall(begun)
        status, problem = problem_of(until_closed(connection))
        assert (status, problem["code"]) == (408, "head-too-slow")
        assert HEAD_SECONDS - 0.5 < time.monotonic() - started < HEAD_SECONDS + 8


def test_a_head_that_trickles_has_no_longer_than_one_that_waits(server: Server) -> None:
    connection = connected(server)
    connection.sendall(b"GET /healthz HTTP/1.1\r\n")
    assert trickle(connection, b"X-A: b\r\n", 0.3, 30) < HEAD_SECONDS + 8


def test_a_second_head_on_a_kept_connection_is_bounded_too(server: Server) -> None:
    connection = connected(server)
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
    connection.sendall(b"GET /healthz HT")
    assert trickle(connection, b"T", 0.3, 30) < HEAD_SECONDS + 8


@pytest.mark.parametrize("head", [b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nX-A: " + b"a" * 20_000, b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 3000])
def test_a_head_that_is_too_large_is_431_with_the_limit(server: Server, head: bytes) -> None:
    connection = connected(server)
    connection.sendall(head)
    status, problem = problem_of(until_closed(connection))
    assert (status, problem["code"]) == (431, "header-too-large")
    assert "8192" in problem["detail"]


@pytest.mark.parametrize("junk", [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"HELO x\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"])
def test_what_is_no_http_is_a_problem_and_closed(server: Server, junk: bytes) -> None:
    connection = connected(server)
    connection.sendall(junk)
    status, problem = problem_of(until_closed(connection))
    assert (status, problem["code"]) == (400, "bad-request")


def put_head(run_id: str) -> bytes:
    head = f"PUT /v1/runs/{run_id}/episodes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n"
    return head.encode()


def test_a_body_that_stops_is_408(server: Server, run_id: str) -> None:
    connection, started = connected(server), time.monotonic()
    connection.sendall(put_head(run_id) + b"{")
    status, problem = problem_of(until_closed(connection))
    assert (status, problem["code"]) == (408, "body-too-slow")
    assert time.monotonic() - started < BODY_SECONDS + 8


def test_a_body_that_trickles_on_and_on_is_cut_off(server: Server, run_id: str) -> None:
    connection = connected(server)
    connection.sendall(put_head(run_id))
    assert UPLOAD_SECONDS - 1 < trickle(connection, b" ", 0.5, 60) < UPLOAD_SECONDS + 10
    assert httpx.get(f"{server.url}/v1/runs/{run_id}", trust_env=False).json()["state"] == "announced"


def test_a_body_that_nobody_asked_for_does_not_keep_the_connection(server: Server) -> None:
    connection = connected(server)
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
    assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
    assert trickle(connection, b" ", 0.3, 60) < HEAD_SECONDS + 8


def test_many_slow_peers_do_not_keep_others_out_for_long_and_too_many_are_told_so(server: Server) -> None:
    peers = [connected(server) for _ in range(60)]
    try:
        answers = [until_closed(peer) for peer in peers[45:]]
        told = [problem_of(answer) for answer in answers if b"too-many-connections" in answer]
        assert told
        assert {status for status, _ in told} == {503}
        until = time.monotonic() + HEAD_SECONDS + 10
        while True:
            try:
                if httpx.get(f"{server.url}/healthz", trust_env=False).status_code == 200:
                    break
            except httpx.TransportError:
                pass
            assert time.monotonic() < until
            time.sleep(0.1)
    finally:
        for peer in peers:
            peer.close()


def test_pipelined_requests_are_answered_in_turn(server: Server) -> None:
    connection = connected(server)
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5)
    said = b""
    while said.count(b'{"status":"ok"}') < 5:
        part = connection.recv(65_536)
        assert part
        said += part
    connection.close()


def test_a_kept_connection_serves_longer_than_one_heads_time(server: Server) -> None:
    with httpx.Client(trust_env=False) as client:
        until = time.monotonic() + HEAD_SECONDS + 1.5
        while time.monotonic() < until:
            assert client.get(f"{server.url}/healthz").status_code == 200
            time.sleep(0.2)


def test_a_request_longer_than_the_stated_time_is_cut_at_shutdown(tmp_path: Path) -> None:
    with Server(tmp_path, PAIRMARK_SHUTDOWN_SECONDS="2", PAIRMARK_BODY_SECONDS="60") as server:
        world = World()
        httpx.post(f"{server.url}/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON, trust_env=False)
        made = httpx.post(f"{server.url}/v1/runs", content=canonical_bytes(world.run("benign")), headers=JSON, trust_env=False)
        connection = connected(server)
        connection.sendall(put_head(made.json()["id"]) + b"{")
        time.sleep(0.5)
        started = time.monotonic()
        server.stop(30)
        assert time.monotonic() - started < 15
        until_closed(connection)

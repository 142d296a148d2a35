"""What every call keeps to: digests of bodies, ids of requests, uploads that break off."""

from __future__ import annotations

import base64
import hashlib
import os
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.client import Client, ProblemError
from pairmark.client.ledger import OutgoingLedger, outgoing_ledger
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.errors import Malformed
from pairmark.domain.world import World
from pairmark.http.content_digest import ContentDigest, content_digest
from tests.databases import POSTGRESQL_SLOW, rows_of
from tests.service.serving import Service, listening, problem_in

pytestmark = POSTGRESQL_SLOW

NDJSON = "application/x-ndjson"
PIECE = {"Content-Type": "application/partial-upload"}


def digest_of(data: bytes) -> str:
    return content_digest(hashlib.sha256(data).digest())


# --- Content-Digest -------------------------------------------------------------------------------------------------------


@given(body=st.binary(max_size=200), other=st.binary(max_size=200))
def test_a_digest_holds_for_its_own_body_only(body: bytes, other: bytes) -> None:
    sha512 = base64.b64encode(hashlib.sha512(body).digest()).decode()
    for fields in ([digest_of(body)], [f"md5=:AAAA:, {digest_of(body)}"], [digest_of(body), f"sha-512=:{sha512}:"]):
        right, wrong = ContentDigest(fields), ContentDigest(fields)
        for part in (body[:7], body[7:]):
            right.update(part)
        right.require()
        wrong.update(other)
        if other != body:
            with pytest.raises(Malformed) as refused:
                wrong.require()
            assert refused.value.code == "content-digest-mismatch"


@pytest.mark.parametrize("field", ["sha-256=x", "sha-256", "sha-256=:not base64!:", "sha-256=:A:", "=:AAAA:", "SHA-256=:AAAA:", '"'])
def test_a_digest_that_cannot_be_read_is_refused(field: str) -> None:
    with pytest.raises(Malformed) as refused:
        ContentDigest([field])
    assert refused.value.code == "bad-content-digest"


@pytest.mark.parametrize("field", ["md5=:AAAA:", "unixsum=:AAAA:, crc32c=:AAAA:", ""])
def test_other_algorithms_are_ignored(field: str) -> None:
    digest = ContentDigest([field])
    digest.update(b"anything")
    digest.require()


def test_a_body_that_is_not_the_declared_one_stores_nothing(service: Service, world: World) -> None:
    manifest = canonical_bytes(world.suite_manifest())
    problem_in(service.post("/v1/suites", manifest, Content_Digest=digest_of(b"another")), 400, "content-digest-mismatch")
    problem_in(service.post("/v1/suites", manifest, Content_Digest="sha-256=?"), 400, "bad-content-digest")
    assert service.get("/v1/suites").json()["items"] == []
    assert service.post("/v1/suites", manifest, Content_Digest=digest_of(manifest)).status_code == 201
    run = service.post("/v1/runs", world.run("benign")).json()["id"]
    ledger = world.files()["benign/episodes.jsonl"]
    problem_in(service.upload(run, ledger, Content_Digest=digest_of(ledger[:-1])), 400, "content-digest-mismatch")
    assert service.get(f"/v1/runs/{run}").json()["state"] == "announced"
    assert service.upload(run, ledger, Content_Digest=digest_of(ledger)).status_code == 201


# --- ids of requests ------------------------------------------------------------------------------------------------------


def test_a_problem_says_what_the_log_calls_its_request(service: Service) -> None:
    for path in ("/v1/runs/run-0", "/v1/nowhere", "/v1/suites?colour=red"):
        answer = service.get(path, headers={"X-Request-ID": "my-request.1"})
        assert answer.json()["request_id"] == answer.headers["x-request-id"] == "my-request.1"
    made = service.get("/v1/runs/run-0")
    assert made.json()["request_id"] == made.headers["x-request-id"]


def test_the_client_shows_the_id_of_a_request_that_failed() -> None:
    problem = {"type": "t", "title": "t", "status": 500, "detail": "d", "code": "internal-error", "errors": []}

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(500, json=problem, headers={"X-Request-ID": "abc"})

    with Client("http://service", transport=httpx.MockTransport(answer)) as client, pytest.raises(ProblemError) as refused:
        client.run("x")
    assert refused.value.request_id == "abc"
    assert "request abc" in str(refused.value)


# --- uploads in pieces ----------------------------------------------------------------------------------------------------


def begun(service: Service, world: World) -> tuple[str, str, bytes]:
    """A run that awaits its ledger, the path of an upload for it, and the ledger."""
    service.register(world)
    run = str(service.post("/v1/runs", world.run("attacked")).json()["id"])
    ledger = world.files()["attacked/episodes.jsonl"]
    answer = service.post(f"/v1/runs/{run}/uploads", asked_for(ledger))
    assert answer.status_code == 201
    assert answer.json()["offset"] == 0
    return run, answer.headers["location"], ledger


def asked_for(ledger: bytes) -> dict[str, Any]:
    return {"type": NDJSON, "size": len(ledger), "digest": f"sha256:{hashlib.sha256(ledger).hexdigest()}"}


def send(service: Service, path: str, offset: int, data: bytes, **headers: str) -> httpx.Response:
    given = {name.replace("_", "-"): text for name, text in headers.items()}
    return service.call("PATCH", path, body=data, headers={**PIECE, "Upload-Offset": str(offset), **given})


def test_pieces_make_a_sealed_run(service: Service, world: World) -> None:
    run, path, ledger = begun(service, world)
    assert send(service, path, 0, ledger[:5000]).json()["offset"] == 5000
    problem_in(service.post(f"{path}/seal", {}), 409, "upload-incomplete")
    problem_in(send(service, path, 0, ledger), 409, "upload-offset")
    problem_in(send(service, path, 6000, ledger[6000:]), 409, "upload-offset")
    problem_in(send(service, path, 5000, ledger[5000:], Content_Digest=digest_of(b"")), 400, "content-digest-mismatch")
    problem_in(send(service, path, 5000, ledger[5000:] + b"x"), 413, "too-large")
    again = service.post(f"/v1/runs/{run}/uploads", asked_for(ledger))
    assert (again.status_code, again.json()["offset"], again.headers["location"]) == (200, 5000, path)
    assert service.get(path).headers["upload-offset"] == "5000"
    assert send(service, path, 5000, ledger[5000:], Content_Digest=digest_of(ledger[5000:])).json()["offset"] == len(ledger)
    sealed = service.post(f"{path}/seal", {}, Idempotency_Key="seal")
    assert (sealed.status_code, sealed.json()["state"]) == (201, "sealed")
    replayed = service.post(f"{path}/seal", {}, Idempotency_Key="seal")
    assert (replayed.headers["idempotency-replayed"], replayed.content) == ("true", sealed.content)
    problem_in(service.get(path), 404, "unknown-upload")
    assert list((service.app.state.services.settings.data_dir / "uploads").iterdir()) == []


def test_another_process_goes_on_with_an_upload(service: Service, world: World) -> None:
    run, path, ledger = begun(service, world)
    send(service, path, 0, ledger[:700])
    beside = Service.at(service.app.state.services.settings.data_dir)
    assert beside.get(path).json()["offset"] == 700
    assert send(beside, path, 700, ledger[700:]).json()["offset"] == len(ledger)
    assert service.post(f"{path}/seal", {}).status_code == 201
    assert beside.get(f"/v1/runs/{run}").json()["state"] == "sealed"


def test_a_ledger_that_is_not_the_declared_one_is_given_up(service: Service, world: World) -> None:
    run, path, ledger = begun(service, world)
    wrong = ledger[:-2] + b" \n"
    send(service, path, 0, wrong)
    problem_in(service.post(f"{path}/seal", {}), 400, "content-digest-mismatch")
    problem_in(service.get(path), 404, "unknown-upload")
    other = ledger.splitlines(keepends=True)[0]
    path = service.post(f"/v1/runs/{run}/uploads", asked_for(other)).headers["location"]
    send(service, path, 0, other)
    problem_in(service.post(f"{path}/seal", {}), 422, "count-mismatch")
    assert service.get(f"/v1/runs/{run}").json()["state"] == "announced"
    problem_in(service.get(path), 404, "unknown-upload")


def test_uploads_are_bounded_given_up_and_forgotten(tmp_path: Path, world: World) -> None:
    service = Service.at(tmp_path / "few", partial_uploads=1, max_upload_bytes=100_000)
    run, path, ledger = begun(service, world)
    problem_in(service.post(f"/v1/runs/{run}/uploads", asked_for(ledger[1:])), 409, "too-many-uploads")
    refused = problem_in(service.post(f"/v1/runs/{run}/uploads", {**asked_for(ledger), "size": 100_001}), 413, "too-large")
    assert "100000" in refused.detail
    assert service.call("DELETE", path).status_code == 200
    problem_in(service.call("DELETE", path), 404, "unknown-upload")
    problem_in(service.get(f"/v1/runs/{run}/uploads/..%2f..%2fkeys"), 404, "no-such-resource")
    problem_in(service.get(f"/v1/runs/{run}/uploads/upload-{'0' * 32}"), 404, "unknown-upload")
    quick = Service.at(tmp_path / "few", partial_upload_seconds=1, partial_uploads=1)
    gone = quick.post(f"/v1/runs/{run}/uploads", asked_for(ledger[1:])).headers["location"]
    content = tmp_path / "few" / "uploads" / gone.rpartition("/")[2] / "content"
    os.utime(content, (0, 0))
    assert quick.post(f"/v1/runs/{run}/uploads", asked_for(ledger)).status_code == 201
    problem_in(quick.get(gone), 404, "unknown-upload")


def test_an_upload_is_found_under_its_own_run_only(service: Service, world: World) -> None:
    _, path, _ = begun(service, world)
    other = service.post("/v1/runs", world.run("benign")).json()["id"]
    problem_in(service.get(f"/v1/runs/{other}/uploads/{path.rpartition('/')[2]}"), 404, "unknown-upload")


# --- connections that drop ------------------------------------------------------------------------------------------------


class Dropping:
    """A wire to the service that is cut after so many bytes, again and again, until the cuts are used up."""

    def __init__(self, url: str, cuts: list[int]) -> None:
        self._target, self.cuts = httpx.URL(url), list(cuts)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near: socket.socket) -> None:
        far = socket.create_connection((self._target.host, self._target.port or 80))
        back = threading.Thread(target=_copy, args=(far, near), daemon=True)
        back.start()
        left = self.cuts.pop(0) if self.cuts else None
        with near, far, suppress(OSError):
            while data := near.recv(4096):
                if left is not None and len(data) >= left:
                    far.sendall(data[:left])
                    near.shutdown(socket.SHUT_RDWR)
                    break
                far.sendall(data)
                left = None if left is None else left - len(data)
            far.shutdown(socket.SHUT_RDWR)
        back.join(10)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)


@contextmanager
def dropping(url: str, cuts: list[int]) -> Iterator[Dropping]:
    found = Dropping(url, cuts)
    try:
        yield found
    finally:
        found.close()


@pytest.fixture(scope="module")
def place(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("dropping") / "data"
    with listening(folder) as url:
        yield url, folder


@contextmanager
def ledger_of(world: World, folder: Path) -> Iterator[OutgoingLedger]:
    (folder / "episodes.jsonl").write_bytes(world.files()["attacked/episodes.jsonl"])
    with outgoing_ledger(folder / "episodes.jsonl") as ledger:
        yield ledger


@pytest.mark.parametrize("seed", range(4))
def test_an_upload_that_is_cut_anywhere_seals_its_run_once(
    place: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr("pairmark.client.steps.FIRST_PAUSE_SECONDS", 0.001)
    url, folder = place
    chance = random.Random(seed)
    world = World.of(tasks=20, injections=15).edit_run("all", "/started_at", f"2026-03-0{seed + 1}T00:00:00+00:00")
    progress: list[tuple[int, int]] = []
    with Client(url) as near:
        near.register_suite(canonical_bytes(world.suite_manifest()))
        run = near.announce_run(canonical_bytes(world.run("attacked"))).model.id
    with ledger_of(world, tmp_path) as ledger:
        size = ledger.packed.size
        cuts = [chance.randrange(1, size + 2000) for _ in range(chance.randrange(4, 9))]
        with dropping(url, cuts) as wire, Client(wire.url, timeout=10) as client:
            sealed = client.upload_episodes(run, ledger, progress=lambda sent, total: progress.append((sent, total)), piece_bytes=size // 3)
        assert wire.cuts != cuts
    assert sealed.model.state == "sealed"
    assert sealed.model.episodes is not None
    assert sealed.model.episodes.digest == ledger.digest
    assert max(progress) == (size, size)
    assert [count for (count,) in rows_of(folder, f"SELECT count(*) FROM run_seals WHERE run = '{run}'")] == [1]
    uploads = folder / "uploads"
    assert not uploads.is_dir() or list(uploads.iterdir()) == []

"""The client against a real server."""

from __future__ import annotations

import asyncio
import http.server
import inspect
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pairmark.client import AsyncClient, Client, NoAnswer, ProblemError
from pairmark.client.ledger import outgoing_ledger
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.errors import Malformed
from pairmark.domain.world import World
from tests.databases import POSTGRESQL_SLOW
from tests.service.serving import announced, listening

pytestmark = POSTGRESQL_SLOW


@pytest.fixture(scope="module")
def url(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with listening(tmp_path_factory.mktemp("served") / "data") as found:
        yield found


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as found:
        yield found


def bundle(world: World, folder: Path, *, shuffled: bool = False) -> Path:
    for name, content in world.files().items():
        lines = content.splitlines(keepends=True)
        if shuffled and name.endswith("jsonl"):
            random.Random(1).shuffle(lines)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"".join(lines))
    return folder


def test_the_whole_story(client: Client, tmp_path: Path) -> None:
    world = World()
    folder = bundle(world, tmp_path, shuffled=True)
    registered = client.register_suite((folder / "suite.json").read_bytes())
    assert registered.new
    assert not client.register_suite((folder / "suite.json").read_bytes()).new
    assert [item.version for item in client.suites()] == ["v1"]
    assert client.suite(registered.model.digest).value == world.suite_manifest()
    assert client.suite_diff(registered.model.digest, registered.model.digest).model.comparability == "same-mix"
    ids: dict[str, str] = {}
    for role in world.sides:
        run = client.announce_run(canonical_bytes(announced(world.run(role)))).model
        ids[role] = run.id
        assert client.amend_run(run.id, (folder / role / "run.json").read_bytes()).model.state == "announced"
        with outgoing_ledger(folder / role / "episodes.jsonl") as ledger:
            assert ledger.digest == world.run(role)["episodes"]["digest"]
            assert client.upload_episodes(run.id, ledger).new
            assert not client.upload_episodes(run.id, ledger).new
        assert client.run(run.id).model.state == "sealed"
        client.episodes(run.id, tmp_path / "read.jsonl")
        assert (tmp_path / "read.jsonl").read_bytes() == world.files()[f"{role}/episodes.jsonl"]
    certified = client.certify(ids["benign"], ids["attacked"], ids["baseline"])
    assert certified.new
    assert certified.model.report is not None
    assert certified.model.report.verdict == "certified"
    assert client.certification(certified.model.id).value == certified.value
    assert certified.model.certificate is not None
    assert client.certificate(certified.model.certificate).value["report"] == certified.value["report"]
    page = client.history("synthetic/office", model=None, limit=5)
    assert [item["certificate"] for item in page.value["items"]] == [certified.model.certificate]


def test_a_refusal_of_the_service_is_its_problem(client: Client) -> None:
    with pytest.raises(ProblemError) as refused:
        client.run("run-0")
    assert (refused.value.status, refused.value.code) == (404, "unknown-run")
    with pytest.raises(ProblemError) as refused:
        client.register_suite(b'{"schema": 1}')
    assert "/" in str(refused.value)
    assert "\n" not in str(refused.value)
    with pytest.raises(ProblemError):
        client.history("synthetic/office", modle="x")
    with pytest.raises(ProblemError):
        client.run("../suites?x=1")


def test_an_episode_file_that_is_refused_is_not_made(client: Client, tmp_path: Path) -> None:
    with pytest.raises(ProblemError):
        client.episodes("run-0", tmp_path / "read.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_ledger_never_leaves_the_machine(tmp_path: Path) -> None:
    (tmp_path / "episodes.jsonl").write_bytes(b"{}\n")
    with pytest.raises(Malformed) as refused, outgoing_ledger(tmp_path / "episodes.jsonl"):
        pass
    assert refused.value.line == 1
    with pytest.raises(Malformed), outgoing_ledger(tmp_path / "ledger.csv"):
        pass


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairmark.client.steps.FIRST_PAUSE_SECONDS", 0.0)
    with Client("http://127.0.0.1:9") as client, pytest.raises(NoAnswer) as failed:
        client.run("run-0")
    assert failed.value.code == "no-service"
    assert "http://127.0.0.1:9" in str(failed.value)


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1", "http://[", "http://127.0.0.1:x"])
def test_no_url(url: str) -> None:
    with pytest.raises((Malformed, NoAnswer)), Client(url) as client:
        client.run("run-0")


def test_somebody_else_there() -> None:
    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if "suites" in self.path else 500)
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, *_: object) -> None:
            return None

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        with Client(f"http://127.0.0.1:{server.server_port}") as client:
            for ask in (lambda: list(client.suites()), lambda: client.run("x")):
                with pytest.raises(NoAnswer) as failed:
                    ask()
                assert failed.value.code == "bad-answer"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def test_what_is_busy_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairmark.client.steps.FIRST_PAUSE_SECONDS", 0.0)
    keys: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["idempotency-key"])
        if len(keys) < 3:
            problem = {"type": "t", "title": "t", "status": 503, "detail": "d", "code": "database-busy", "errors": []}
            return httpx.Response(503, json=problem, headers={"Retry-After": "0"})
        value = {"name": "s", "version": "v", "digest": "sha256:" + "0" * 64, "manifest": "sha256:" + "0" * 64, "created_at": "2026-01-01T00:00:00Z", "kept": []}
        return httpx.Response(201, json=value)

    with Client("http://service", transport=httpx.MockTransport(answer)) as client:
        assert client.register_suite(b"{}").new
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_the_same_story_awaited(url: str, tmp_path: Path) -> None:
    world = World().edit_run("all", "/started_at", "2026-02-02T00:00:00+00:00")
    folder = bundle(world, tmp_path)

    async def tell() -> None:
        async with AsyncClient(url) as client:
            registered = await client.register_suite((folder / "suite.json").read_bytes())
            assert registered.model.digest in [item.digest async for item in client.suites()]
            ids: dict[str, str] = {}
            told: list[tuple[int, int]] = []
            for role in world.sides:
                ids[role] = (await client.announce_run((folder / role / "run.json").read_bytes())).model.id
                with outgoing_ledger(folder / role / "episodes.jsonl") as ledger:
                    sealed = await client.upload_episodes(
                        ids[role], ledger, progress=lambda sent, total: told.append((sent, total)), piece_bytes=ledger.packed.size // 2
                    )
                    assert told[-1] == (ledger.packed.size, ledger.packed.size)
                assert sealed.model.state == "sealed"
            await client.episodes(ids["attacked"], tmp_path / "read.jsonl")
            assert (tmp_path / "read.jsonl").read_bytes() == world.files()["attacked/episodes.jsonl"]
            certified = await client.certify(ids["benign"], ids["attacked"], ids["baseline"])
            assert certified.model.certificate is not None
            assert (await client.log.bundle(certified.model.certificate)).startswith(b"{")
            lines = [line async for line in client.log.export()]
            with Client(url) as waiting:
                assert lines == list(waiting.log.export())
            assert (await client.people.me()).via in ("local", "key")
            with pytest.raises(ProblemError) as refused:
                await client.run("run-0")
            assert refused.value.code == "unknown-run"

    asyncio.run(tell())


def test_nobody_there_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairmark.client.steps.FIRST_PAUSE_SECONDS", 0.0)

    async def ask() -> None:
        async with AsyncClient("http://127.0.0.1:9") as client:
            await client.run("run-0")

    with pytest.raises(NoAnswer):
        asyncio.run(ask())


def test_both_clients_can_do_the_same() -> None:
    waiting, awaited = Client("http://service"), AsyncClient("http://service")
    for one, other in ((waiting, awaited), (waiting.people, awaited.people), (waiting.log, awaited.log), (waiting.webhooks, awaited.webhooks)):
        names = {name for name in dir(one) if not name.startswith("_")}
        assert names == {name for name in dir(other) if not name.startswith("_")}
        for name in names - {"close", "people", "log", "webhooks", "export"}:
            assert inspect.signature(getattr(one, name)) == inspect.signature(getattr(other, name))
            assert getattr(one, name).__doc__
    waiting.close()
    asyncio.run(awaited.close())


def problem_of(status: int, **headers: str) -> httpx.Response:
    problem = {"type": "t", "title": "t", "status": status, "detail": "d", "code": "c", "errors": []}
    return httpx.Response(status, json=problem, headers={name.replace("_", "-"): text for name, text in headers.items()})


@pytest.mark.parametrize("status", [409, 429, 503])
def test_a_pause_that_the_service_asks_for_is_kept(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    paused: list[float] = []
    monkeypatch.setattr("pairmark.client.connection.time.sleep", paused.append)
    answers = [problem_of(status, Retry_After="7"), problem_of(404)]

    with Client("http://service", transport=httpx.MockTransport(lambda _: answers.pop(0))) as client, pytest.raises(ProblemError) as refused:
        client.run("x")
    assert refused.value.status == 404
    assert [7 <= each <= 9 for each in paused] == [True]


def test_a_pause_beyond_all_patience_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairmark.client.connection.time.sleep", lambda _: pytest.fail("slept"))
    with Client("http://service", transport=httpx.MockTransport(lambda _: problem_of(503, Retry_After="3600"))) as client:
        with pytest.raises(ProblemError) as refused:
            client.run("x")
        assert refused.value.retry_after == 3600


def test_what_is_not_safe_to_repeat_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change under If-Match whose answer was lost may have been made; only its sender can tell."""
    monkeypatch.setattr("pairmark.client.connection.time.sleep", lambda _: None)
    asked: list[str] = []
    member = {
        "id": "m", "organisation": "o", "name": "n", "roles": ["reader"], "identity": None, "created_at": "2026-01-01T00:00:00Z", "removed_at": None
    }  # fmt: skip

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.method)
        if request.method == "GET":
            return httpx.Response(200, json=member, headers={"ETag": '"1"'})
        raise httpx.ReadError("gone", request=request)

    with Client("http://service", transport=httpx.MockTransport(answer)) as client, pytest.raises(NoAnswer):
        client.people.change_roles("m", ["reader"])
    assert asked == ["GET", "PATCH"]


def test_bodies_carry_their_digest() -> None:
    said: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        said.append(request.headers["content-digest"])
        return problem_of(422)

    with Client("http://service", transport=httpx.MockTransport(answer)) as client, pytest.raises(ProblemError):
        client.plan(b"{}")
    assert said == ["sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:"]

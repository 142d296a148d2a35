"""A PostgreSQL server that goes away and comes back while a service is in use: clear refusals, then answers again, without a restart."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pairmark.adapters.sql.database import SqlDatabase
from pairmark.app.errors import Unavailable
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.problem import Problem
from pairmark.domain.world import World
from tests.postgres import Server
from tests.service.serving import JSON, announced, listening, problem_in

pytestmark = pytest.mark.parametrize("kind", ["postgresql"], indirect=True)


@pytest.fixture(scope="module")
def going(kind: str) -> Iterator[Server]:
    made = Server()
    yield made
    made.end()


def until_ready(url: str, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while httpx.get(f"{url}/readyz", timeout=30).status_code != 200:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_it_says_so_and_recovers_by_itself(going: Server, tmp_path: Path) -> None:
    world = World()
    with listening(tmp_path / "data", database_url=going.url(going.migrated())) as url:
        assert httpx.post(f"{url}/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON).status_code == 201
        body, stopping = canonical_bytes(announced(world.run("benign"))), threading.Event()
        found: list[httpx.Response] = []

        def ask(number: int) -> None:
            with httpx.Client(base_url=url, timeout=60) as client:
                count = 0
                while not stopping.is_set():
                    count += 1
                    if number % 2:
                        found.append(client.get("/v1/suites"))
                    else:
                        key = {"Idempotency-Key": f"announce-{number}-{count}"}
                        found.append(client.post("/v1/runs", content=body, headers={**JSON, **key}))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        try:
            for mode in ("fast", "immediate"):
                time.sleep(0.3)
                going.stop(mode)
                assert httpx.get(f"{url}/healthz", timeout=30).status_code == 200
                gone = problem_in(httpx.get(f"{url}/v1/suites", timeout=30), 503, "database-unavailable")
                assert gone.detail is not None
                time.sleep(0.3)
                going.start()
                until_ready(url)
        finally:
            stopping.set()
            for thread in threads:
                thread.join(60)
        assert all(answer.status_code in (200, 201, 503) for answer in found), Counter(answer.status_code for answer in found)
        codes = Counter(Problem.model_validate_json(answer.content).code for answer in found if answer.status_code == 503)
        assert set(codes) <= {"database-unavailable", "database-busy", "outcome-unknown"}, codes
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in found if answer.status_code == 503)
        assert httpx.post(f"{url}/v1/runs", content=body, headers=JSON, timeout=60).status_code == 201
        head = int(httpx.get(f"{url}/v1/log/checkpoint").text.split("\n")[1])
        made = sum(answer.status_code == 201 for answer in found)
        assert head >= made + 2  # the trust root, what was answered, and the last one


def test_a_writer_that_waits_too_long_for_another_is_told_so(going: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pairmark.adapters.sql import postgresql

    monkeypatch.setitem(postgresql._SETTINGS, "lock_timeout", "300")
    url = going.url(going.migrated())
    one, other = SqlDatabase.at(url), SqlDatabase.at(url)
    inside, leave = threading.Event(), threading.Event()

    def hold(_tables: object) -> None:
        _tables.documents.get("x")  # type: ignore[attr-defined]
        inside.set()
        assert leave.wait(60)

    holding = threading.Thread(target=one.write, args=(hold,))
    holding.start()
    assert inside.wait(60)
    try:
        with pytest.raises(Unavailable, match="expected a turn to write") as refused:
            other.write(lambda tables: tables.documents.put("sha256:" + "0" * 64, b"x"))
        assert refused.value.code == "database-busy"
        with other.reading() as tables:  # readers are not kept waiting
            assert tables.documents.get("x") is None
    finally:
        leave.set()
        holding.join(60)
    other.write(lambda tables: tables.documents.put("sha256:" + "0" * 64, b"x"))
    one.close()
    other.close()


def test_a_process_that_freezes_inside_a_transaction_does_not_lock_out_the_others(
    going: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pairmark.adapters.sql import postgresql

    usual = f"'idle_in_transaction_session_timeout', '{postgresql._SETTINGS['idle_in_transaction_session_timeout']}'"
    assert usual in postgresql.PREPARING
    url = going.url(going.migrated())
    monkeypatch.setattr(postgresql, "PREPARING", postgresql.PREPARING.replace(usual, "'idle_in_transaction_session_timeout', '300'"))
    frozen, other = SqlDatabase.at(url), SqlDatabase.at(url)
    inside, leave = threading.Event(), threading.Event()
    said: list[Unavailable] = []

    def freeze(tables: object) -> None:
        tables.documents.put("sha256:" + "1" * 64, b"frozen")  # type: ignore[attr-defined]
        inside.set()
        assert leave.wait(60)

    def write() -> None:
        try:
            frozen.write(freeze)
        except Unavailable as problem:
            said.append(problem)

    freezing = threading.Thread(target=write)
    freezing.start()
    assert inside.wait(60)
    other.write(lambda tables: tables.documents.put("sha256:" + "0" * 64, b"x"))
    leave.set()
    freezing.join(60)
    assert [problem.code for problem in said] == ["database-busy"] or [problem.code for problem in said] == ["outcome-unknown"]
    with other.reading() as tables:
        assert tables.documents.get("sha256:" + "1" * 64) is None
    frozen.close()
    other.close()


def test_too_many_connections_are_refused_not_waited_for_without_end(going: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from pairmark.adapters.sql import postgresql

    monkeypatch.setattr(postgresql, "POOL_SECONDS", 0.3)
    database = SqlDatabase.at(going.url(going.migrated()), connections=2)
    with database.reading() as first, database.reading() as second:
        assert first.documents.get("x") is None
        assert second.documents.get("x") is None
        with pytest.raises(Unavailable, match="expected a free database connection") as refused, database.reading() as third:
            third.documents.get("x")
        assert refused.value.code == "database-busy"
    database.close()


def test_nothing_of_the_server_is_told_to_callers(going: Server) -> None:
    url = going.url("postgres").replace("/postgres?", "/not_there?")
    database = SqlDatabase.at(url)
    with pytest.raises(Unavailable) as refused, database.reading() as tables:
        tables.documents.get("x")
    assert "pairmark-pg" not in str(refused.value)
    assert "not_there" not in str(refused.value)
    database.close()

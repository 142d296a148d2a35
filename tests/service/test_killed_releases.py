"""`kill -9` of the service while it certifies and releases: nothing is half there, and asking again ends in exactly one record."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from pairmark.adapters.log.fsck import check_log
from pairmark.adapters.log.mark import HighWaterMark
from pairmark.adapters.log.signing import trusted
from pairmark.adapters.sql.database import SqlDatabase
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.world import World
from pairmark.verify import Memory, verify_bundle
from tests.databases import url_of
from tests.service.serving import JSON, NDJSON, Process

Moment = Callable[[SqlDatabase], bool]


def counted(database: SqlDatabase, statement: str) -> int:
    with database.engine.connect() as connection:
        return int(connection.exec_driver_sql(statement).scalar_one())


def begun(database: SqlDatabase) -> bool:
    """The request is known; the verdict is being worked out."""
    return counted(database, "SELECT count(*) FROM idempotency_keys WHERE status IS NULL") > 0


def unpublished(database: SqlDatabase) -> bool:
    """The release is committed; its checkpoint may not be stored yet."""
    return counted(database, "SELECT count(*) FROM certificates") > counted(database, "SELECT count(*) FROM known")


MOMENTS: dict[str, Moment] = {"begun": begun, "stored": unpublished}


def handed_in(url: str, world: World) -> dict[str, str]:
    ids: dict[str, str] = {}
    with httpx.Client(base_url=url, timeout=60) as client:
        assert client.post("/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON).status_code in (200, 201)
        for role in world.sides:
            ids[role] = client.post("/v1/runs", content=canonical_bytes(world.run(role)), headers=JSON).json()["id"]
            answer = client.put(f"/v1/runs/{ids[role]}/episodes", content=world.files()[f"{role}/episodes.jsonl"], headers=NDJSON)
            assert answer.status_code in (200, 201)
    return ids


def faults(database: SqlDatabase, folder: Path) -> list[str]:
    signing = trusted(folder / "keys")
    return list(check_log(database, signing, HighWaterMark(folder / "keys", signing.origin)))


def asked(url: str, body: bytes, key: str, answers: list[httpx.Response]) -> None:
    with contextlib.suppress(httpx.HTTPError):  # killed
        answers.append(httpx.post(f"{url}/v1/certifications", content=body, headers={**JSON, "Idempotency-Key": key}, timeout=120))


def answered(url: str, body: bytes, key: str) -> dict[str, Any]:
    """The answer to the same request, however long the first one's reservation lasts."""
    until = time.monotonic() + 120
    while True:
        answer = httpx.post(f"{url}/v1/certifications", content=body, headers={**JSON, "Idempotency-Key": key}, timeout=120)
        if answer.status_code in (200, 201):
            return dict(answer.json())
        assert answer.status_code == 409, answer.text
        assert answer.json()["code"] == "request-in-flight"
        assert time.monotonic() < until
        time.sleep(0.2)


def killed(rounds: list[str], folder: Path, log: Path) -> None:
    url, world = url_of(folder), World()
    environment = {"PAIRMARK_KEY_LEASE_SECONDS": "1"}
    server = Process(folder, log, **environment)
    database = SqlDatabase.at(url)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE known (certificate VARCHAR(64))")  # what the test has seen released
    bundles: list[bytes] = []
    try:
        for number, moment in enumerate(rounds):
            ids = handed_in(server.url, world.set("attacked", 1, duration_ms=number))
            body, key = canonical_bytes({**ids, "policy": "standard/1"}), f"certify-{number}"
            answers: list[httpx.Response] = []
            asking = threading.Thread(target=asked, args=(server.url, body, key, answers))
            asking.start()
            until = time.monotonic() + 120
            while not MOMENTS[moment](database) and asking.is_alive():
                assert time.monotonic() < until
            server.kill()
            asking.join(60)
            half_released(database)
            server = Process(folder, log, **environment)
            found = answered(server.url, body, key)
            assert found["report"]["verdict"] == "certified"
            if answers:
                assert answers[0].json() == found
            assert counted(database, f"SELECT count(*) FROM certifications WHERE attacked = '{ids['attacked']}'") == 1
            assert counted(database, "SELECT count(*) FROM certificates") == number + 1
            bundles.append(httpx.get(f"{server.url}/v1/certificates/{found['certificate']}/bundle", timeout=60).content)
            with database.engine.begin() as connection:
                connection.exec_driver_sql(f"INSERT INTO known (certificate) VALUES ('{found['certificate']}')")
            trust = httpx.get(f"{server.url}/v1/log/trust").content
            for bundle in bundles:
                steps = verify_bundle(bundle, trust=trust, remembered=Memory()).steps
                assert [(step.name, step.message) for step in steps if step.outcome == "FAIL"] == []
            assert faults(database, folder) == []
    finally:
        server.kill()
        database.close()


def half_released(database: SqlDatabase) -> None:
    """Every certificate has its verdict, its document, its log entry and its place in history; every released entry its certificate."""
    for there, missing in (
        ("certificates c", "SELECT 1 FROM certificate_releases r WHERE r.certificate = c.id"),
        ("certificates c", "SELECT 1 FROM certifications n WHERE n.id = c.certification AND n.verdict = 'certified'"),
        ("certificates c", "SELECT 1 FROM documents d WHERE d.digest = c.document"),
        ("certificates c", "SELECT 1 FROM history_entries h WHERE h.id = c.id"),
        ("certificate_releases r", 'SELECT 1 FROM log_entries e WHERE e."index" = r."index" AND e.envelope IS NOT NULL'),
        ("certifications n", "SELECT 1 FROM certificates c WHERE c.certification = n.id"),
    ):
        assert counted(database, f"SELECT count(*) FROM {there} WHERE NOT EXISTS ({missing})") == 0, (there, missing)


@pytest.mark.parametrize("kind", [pytest.param("sqlite", marks=pytest.mark.slow), "postgresql"], indirect=True)
def test_killed_once_begun_and_once_stored(tmp_path: Path) -> None:
    killed(["begun", "stored"], tmp_path / "data", tmp_path / "log")


@pytest.mark.slow
def test_killed_again_and_again(tmp_path: Path) -> None:
    killed(["stored", "begun"] * 6, tmp_path / "data", tmp_path / "log")

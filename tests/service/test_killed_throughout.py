"""`kill -9` of the service while many hand in runs and ask for verdicts: nothing acknowledged is lost, nothing is half visible, and every
retry ends in exactly one record."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path

import httpx
import pytest

from pairmark.adapters.log.fsck import check_log
from pairmark.adapters.log.mark import HighWaterMark
from pairmark.adapters.log.signing import trusted
from pairmark.adapters.sql.database import SqlDatabase
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.world import World
from tests.databases import POSTGRESQL_SLOW, rows_of, url_of
from tests.service.nursery import Nursery
from tests.service.serving import JSON, NDJSON

SENDERS = 4


def _announce(run: bytes, headers: dict[str, str], url: str) -> httpx.Response:
    return httpx.post(f"{url}/v1/runs", content=run, headers=headers, timeout=60)


def _upload(run_id: str, ledger: bytes, url: str) -> httpx.Response:
    return httpx.put(f"{url}/v1/runs/{run_id}/episodes", content=ledger, headers=NDJSON, timeout=60)


class Supervised:
    """A server that is killed at odd moments and started again, as a supervisor does it."""

    def __init__(self, folder: Path, log: Path, seed: int) -> None:
        self._dice = random.Random(seed)
        self._over = threading.Event()
        self.kills = 0
        self.acknowledged = 0
        """Steps since the start, whoever's: what a kill waits for, so that slow machines come on too. Asking how far it is is no step."""
        self.server = Nursery(folder, log, PAIRMARK_KEY_LEASE_SECONDS="1", PAIRMARK_WAIT_EPISODES="310")
        self.server.start()

    def kill_now_and_then(self, most: int, steps: int) -> None:
        """Until `end`, or so many times: kill it in the midst of things, after fewer than so many acknowledged steps."""
        while self.kills < most:
            self.acknowledged, wanted = 0, self._dice.randrange(steps)
            while self.acknowledged < wanted:
                if self._over.wait(0.01):
                    return
            if self._over.wait(self._dice.uniform(0.0, 0.5)):
                return
            self.server.kill()
            self.kills += 1
            self.server.start()

    def end(self) -> None:
        """Kill it no more."""
        self._over.set()


class Sender:
    """Hands in one pair and asks for its verdict, again and again until each step is acknowledged; notes what was."""

    def __init__(self, supervised: Supervised, world: World, number: int) -> None:
        self._supervised, self._world, self._number = supervised, world, number
        self.sealed: dict[str, tuple[str, bytes]] = {}
        self.promised: str | None = None
        self.done: dict[str, object] = {}

    def work(self) -> None:
        """The whole way."""
        for role in self._world.sides:
            run, ledger = canonical_bytes(self._world.run(role)), self._world.files()[f"{role}/episodes.jsonl"]
            key = {"Idempotency-Key": f"run-{self._number}-{role}"}
            run_id = str(self._sent(partial(_announce, run, {**JSON, **key})).json()["id"])
            self._sent(partial(_upload, run_id, ledger))
            self.sealed[role] = (run_id, ledger)
        body = canonical_bytes({**{role: run_id for role, (run_id, _) in self.sealed.items()}, "policy": "standard/1"})
        answer = self._certified(body, "first")
        self.promised = str(answer.json()["id"])
        while answer.json().get("state") != "done":
            time.sleep(0.2)
            answer = self._sent(lambda url: httpx.get(f"{url}/v1/certifications/{self.promised}", timeout=60))
            if answer.status_code == 500:  # too many workers died of it: asking again begins again, under the same id
                assert answer.json()["code"] == "certification-failed"
                assert self._certified(body, str(time.monotonic())).json()["id"] == self.promised
        self.done = answer.json()
        self._supervised.acknowledged += 1

    def _certified(self, body: bytes, attempt: str) -> httpx.Response:
        key = {"Idempotency-Key": f"certify-{self._number}-{attempt}"}
        return self._sent(lambda url: httpx.post(f"{url}/v1/certifications", content=body, headers={**JSON, **key}, timeout=120))

    def _sent(self, send: Callable[[str], httpx.Response]) -> httpx.Response:
        """The first acknowledgement, however often the server dies before it."""
        until = time.monotonic() + 1200
        while True:
            assert time.monotonic() < until
            try:
                answer = send(self._supervised.server.url)
            except httpx.HTTPError:  # killed, or not there yet
                time.sleep(0.1)
                continue
            if answer.status_code in (200, 201, 202) or (answer.status_code == 500 and answer.request.method == "GET"):
                self._supervised.acknowledged += answer.request.method != "GET"
                return answer
            assert answer.status_code in (409, 503), answer.text
            assert answer.status_code == 503 or answer.json()["code"] == "request-in-flight", answer.text
            time.sleep(0.1)


def killed_throughout(kills: int, steps: int, folder: Path, log: Path) -> int:
    """Hand in and certify pairs, every second of them through the queue, until the server was killed so many times; how many they are."""
    supervised = Supervised(folder, log, seed=kills)
    first = World()
    small = World.of(tasks=20, injections=14).edit_suite("/version", "small")
    for world in (first, small):
        httpx.post(f"{supervised.server.url}/v1/suites", content=canonical_bytes(world.suite_manifest()), headers=JSON, timeout=60).raise_for_status()
    killing = threading.Thread(target=supervised.kill_now_and_then, args=(kills, steps))
    senders: list[Sender] = []
    numbers = count()

    def work() -> None:
        while supervised.kills < kills:
            number = next(numbers)
            sender = Sender(supervised, (first if number % 2 else small).set("attacked", 1, duration_ms=number), number)
            senders.append(sender)
            sender.work()

    killing.start()
    try:
        with ThreadPoolExecutor(SENDERS) as threads:
            for done in [threads.submit(work) for _ in range(SENDERS)]:
                done.result()
    finally:
        supervised.end()
        killing.join()
    try:
        for sender in senders:
            acknowledged_is_there(supervised.server.url, sender)
    finally:
        supervised.server.end()
    nothing_half_there(folder, len(senders))
    assert supervised.kills == kills
    return len(senders)


def acknowledged_is_there(url: str, sender: Sender) -> None:
    for run_id, ledger in sender.sealed.values():
        assert httpx.get(f"{url}/v1/runs/{run_id}/episodes?format=ndjson", timeout=60).content == ledger
    assert httpx.get(f"{url}/v1/certifications/{sender.promised}", timeout=60).json() == sender.done
    certificate = sender.done["certificate"]
    assert certificate is not None
    assert httpx.get(f"{url}/v1/certificates/{certificate}/bundle", timeout=60).status_code == 200


def nothing_half_there(folder: Path, pairs: int) -> None:
    for table in ("certifications", "certificates", "certificate_releases", "history_entries"):
        assert rows_of(folder, f"SELECT count(*) FROM {table}") == [(pairs,)], table
    assert rows_of(folder, "SELECT count(*) FROM certification_jobs") == [(0,)]
    assert rows_of(folder, "SELECT count(DISTINCT subject) FROM certifications") == [(pairs,)]
    assert rows_of(folder, "SELECT count(*) FROM runs WHERE NOT EXISTS (SELECT 1 FROM run_seals WHERE run_seals.run = runs.id)") == [(0,)]
    signing, database = trusted(folder / "keys"), SqlDatabase.at(url_of(folder))
    try:
        assert list(check_log(database, signing, HighWaterMark(folder / "keys", signing.origin))) == []
    finally:
        database.close()


@POSTGRESQL_SLOW
def test_killed_now_and_then(tmp_path: Path) -> None:
    assert killed_throughout(2, 6, tmp_path / "data", tmp_path / "log") >= SENDERS


@pytest.mark.slow
def test_killed_two_hundred_times_in_uploads_and_certifications(tmp_path: Path) -> None:
    assert killed_throughout(200, 4, tmp_path / "data", tmp_path / "log") > 30

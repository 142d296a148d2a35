"""A PostgreSQL server that crashes under writers: every receipt that was handed out still verifies, and the log is whole.

The server runs as a real one does, with `fsync`; `pg_ctl stop -m immediate` is what a crash of it is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from pairmark.app.errors import Unavailable
from pairmark.app.log_read import consistency
from pairmark.provenance.merkle import verify_consistency
from tests.log.filling import LoggingService
from tests.postgres import Server

WRITERS = 4
EXPECTED = {"database-unavailable", "database-busy", "outcome-unknown"}


@pytest.fixture(scope="module")
def crashing() -> Iterator[Server]:
    made = Server(settings={})
    yield made
    made.end()


class Load:
    """Threads that announce, and keep each receipt that they were handed; held still while somebody looks."""

    def __init__(self, log: LoggingService) -> None:
        self.log = log
        self.receipts: list[tuple[int, bytes, bytes]] = []
        self.refusals: list[str] = []
        self.crashes: list[BaseException] = []
        self._go, self._end = threading.Event(), threading.Event()
        self._still = [threading.Event() for _ in range(WRITERS)]
        self._threads = [threading.Thread(target=self._write, args=(number,), daemon=True) for number in range(WRITERS)]
        self._go.set()
        for thread in self._threads:
            thread.start()

    def _write(self, number: int) -> None:
        while not self._end.is_set():
            if not self._go.is_set():
                self._still[number].set()
                self._go.wait(60)
                self._still[number].clear()
                continue
            try:
                entry, index = self.log.announce()
                self.receipts.append((index, entry, self.log.receipt(index)))
            except Unavailable as problem:
                self.refusals.append(problem.code)
                time.sleep(0.01)
            except BaseException as problem:  # noqa: BLE001 - looked at by the test
                self.crashes.append(problem)
                return

    def until_more(self, number: int) -> None:
        wanted, until = len(self.receipts) + number, time.monotonic() + 120
        while len(self.receipts) < wanted and not self.crashes:
            assert time.monotonic() < until, self.refusals[-10:]
            time.sleep(0.002)

    def hold(self) -> None:
        self._go.clear()
        for still in self._still:
            assert still.wait(120) or self.crashes

    def go_on(self) -> None:
        self._go.set()

    def end(self) -> None:
        self._end.set()
        self._go.set()
        for thread in self._threads:
            thread.join(120)
            assert not thread.is_alive()


def whole(log: LoggingService, receipts: list[tuple[int, bytes, bytes]]) -> None:
    assert all(log.holds(entry, receipt) for _, entry, receipt in receipts)
    assert len({index for index, _, _ in receipts}) == len(receipts)
    with log.database.reading() as tables:
        for index, entry, _ in receipts:
            record = tables.log.of_index(index)
            assert record is not None
            assert record.entry == entry
        heads = [log.head_of(one.note) for one in tables.log.checkpoints()]
        for old, new in pairwise(heads):
            proof = consistency(tables, old.size, new.size)
            assert verify_consistency(old.size, new.size, proof.path, old.root, new.root)
    assert log.faults() == []


def crashed(rounds: int, server: Server, folder: Path) -> int:
    """Crash the server `rounds` times under load, without restarting the writers; how many receipts were handed out."""
    log = LoggingService.at(folder, server.url(server.migrated()))
    load = Load(log)
    try:
        for number in range(rounds):
            load.until_more(3 + 7 * (number % 4))
            server.stop("immediate")
            time.sleep(0.02 * (number % 3))
            server.start()
            load.hold()
            log.publisher.publish()  # what a crash left unpublished
            whole(log, load.receipts[-200:])
            load.go_on()
        load.until_more(5)  # it goes on after the last crash too
    finally:
        load.end()
    assert load.crashes == []
    assert set(load.refusals) <= EXPECTED
    whole(log, load.receipts)
    again = LoggingService.at(folder, log.database.engine.url.render_as_string(hide_password=False))
    assert again.checkpoints()[-1].size == again.size()
    again.database.close()
    log.database.close()
    return len(load.receipts)


def test_a_server_that_crashes_three_times_takes_back_nothing(crashing: Server, tmp_path: Path) -> None:
    assert crashed(3, crashing, tmp_path / "data") > 20


@pytest.mark.slow
def test_a_server_that_crashes_twenty_times_takes_back_nothing(crashing: Server, tmp_path: Path) -> None:
    assert crashed(20, crashing, tmp_path / "data") > 200


def test_a_server_whose_commits_are_not_durable_is_overruled(crashing: Server, tmp_path: Path) -> None:
    name = crashing.migrated()
    crashing.run(f"ALTER DATABASE {name} SET synchronous_commit = off")
    log = LoggingService.at(tmp_path / "data", crashing.url(name))
    with log.database.engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == "on"
    _, index = log.announce()
    crashing.stop("immediate")
    crashing.start()
    assert log.size() == index + 1
    assert log.faults() == []
    log.database.close()

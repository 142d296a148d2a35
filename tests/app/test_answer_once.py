"""Idempotency keys, on a real database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from pairmark.adapters.sql.database import SqlDatabase
from pairmark.app.answer_once import Answered, KeyedRequest, answer_once
from pairmark.app.errors import InFlight
from pairmark.app.ports import KeptAnswer, Tables
from pairmark.domain.canonical import digest_of
from pairmark.domain.errors import Conflict, NotFound

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def database(migrated_url: str) -> Iterator[SqlDatabase]:
    made = SqlDatabase.at(migrated_url)
    yield made
    made.close()


class Desk:
    """Sends requests, at a time that the test sets."""

    def __init__(self, database: SqlDatabase) -> None:
        self.database, self.now, self.done = database, NOON, 0

    def send(
        self, body: str = "one", *, key: str | None = "k", token: str = "t", prepare: Callable[[], None] = lambda: None,
        fail: Exception | None = None,
    ) -> Answered:
        def work(tables: Tables, _: None) -> KeptAnswer:
            if fail is not None:
                raise fail
            self.done += 1
            return KeptAnswer(201, {"Location": f"/{self.done}"}, b"answer %d" % self.done)

        request = None if key is None else KeyedRequest(key, digest_of(body), token)
        return answer_once(
            self.database, request, prepare, work, clock=lambda: self.now, lease=timedelta(seconds=120), kept=timedelta(days=30)
        )


@pytest.fixture
def desk(database: SqlDatabase) -> Desk:
    return Desk(database)


def test_the_same_request_is_done_once_and_answered_the_same(desk: Desk) -> None:
    first, second = desk.send(), desk.send(token="u")
    assert desk.done == 1
    assert (first.replayed, second.replayed) == (False, True)
    assert first.answer == second.answer == KeptAnswer(201, {"Location": "/1"}, b"answer 1")


def test_without_a_key_every_request_is_done(desk: Desk) -> None:
    desk.send(key=None)
    desk.send(key=None)
    assert desk.done == 2


def test_a_key_is_for_one_request(desk: Desk) -> None:
    desk.send("one")
    with pytest.raises(Conflict) as refused:
        desk.send("other")
    assert refused.value.code == "idempotency-key-reused"
    assert desk.done == 1


def test_a_refused_request_leaves_its_key_free(desk: Desk) -> None:
    with pytest.raises(NotFound):
        desk.send("one", fail=NotFound("no", "no"))
    assert not desk.send("other").replayed


def test_a_key_is_kept_as_long_as_was_said(desk: Desk) -> None:
    desk.send()
    desk.now = NOON + timedelta(days=29)
    assert desk.send().replayed
    desk.now = NOON + timedelta(days=31)
    assert not desk.send("other").replayed


def test_the_same_request_in_flight_is_told_so_and_not_done_again(desk: Desk) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        inside.set()
        assert go_on.wait(10)

    running = threading.Thread(target=lambda: desk.send(prepare=slow))
    running.start()
    assert inside.wait(10)
    with pytest.raises(InFlight) as told:
        desk.send(token="u")
    assert told.value.retry_after >= 1
    go_on.set()
    running.join(10)
    assert desk.send(token="u").replayed
    assert desk.done == 1


def test_a_dead_request_is_taken_over_and_cannot_finish_afterwards(desk: Desk) -> None:
    taken: list[Answered] = []

    def outlived() -> None:
        desk.now = NOON + timedelta(seconds=121)
        taken.append(desk.send(token="u"))

    with pytest.raises(InFlight):
        desk.send(token="t", prepare=outlived)
    assert [answered.answer.body for answered in taken] == [b"answer 1"]
    assert desk.send().answer.body == b"answer 1"  # what the slow one did was rolled back

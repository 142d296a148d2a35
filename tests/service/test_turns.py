from __future__ import annotations

import threading
import time

import pytest

from pairmark.app.errors import Unavailable
from pairmark.http.turns import Turns
from tests.databases import SQLITE_ONLY

pytestmark = SQLITE_ONLY


def next_turn(turns: Turns, taken: threading.Event) -> None:
    with turns:
        taken.set()


def test_so_many_at_once_so_many_waiting_and_the_rest_is_told() -> None:
    turns = Turns(1, 1)
    waited = threading.Event()
    with turns:
        waiting = threading.Thread(target=lambda: next_turn(turns, waited))
        waiting.start()
        until = time.monotonic() + 10
        while turns._places and time.monotonic() < until:
            time.sleep(0.01)
        with pytest.raises(Unavailable) as told, turns:
            pass
        assert told.value.retry_after > 0
        assert not waited.is_set()
    waiting.join(10)
    assert waited.is_set()


def test_a_turn_is_given_back_whatever_happens() -> None:
    turns = Turns(1, 0)
    for _ in range(3):
        with pytest.raises(ValueError, match="no"), turns:
            raise ValueError("no")
    with turns, pytest.raises(Unavailable), turns:
        pass


def test_the_patient_wait_beyond_the_places() -> None:
    turns = Turns(1, 0)
    done = threading.Event()

    def patiently() -> None:
        with turns.taken_patiently():
            done.set()

    with turns:
        waiting = threading.Thread(target=patiently)
        waiting.start()
        assert not done.wait(0.05)
    waiting.join(10)
    assert done.is_set()

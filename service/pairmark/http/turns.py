"""Turns for heavy work: so many at once, so many waiting, and the rest is told to come back, so that light calls always find a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from pairmark.app.errors import Unavailable

RETRY_SECONDS = 5


class Turns:
    """A turn is a context: `with turns:`. Verdicts and ledgers take one each; each needs memory for its ledgers."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._free = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._places = waiting

    def __enter__(self) -> None:
        """Take a turn, or wait for it where there is a place left.

        Raises:
            Unavailable: too many wait already.
        """
        if not self._free.acquire(blocking=False):
            self._wait(patient=False)

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self._free.release()

    @contextmanager
    def taken_patiently(self) -> Iterator[None]:
        """A turn, waited for beyond the places that there are."""
        if not self._free.acquire(blocking=False):
            self._wait(patient=True)
        try:
            yield
        finally:
            self._free.release()

    def _wait(self, *, patient: bool) -> None:
        with self._lock:
            if self._places <= 0 and not patient:
                raise Unavailable(
                    "service-busy", "expected room for one more certification or upload, found too many waiting", "try again a little later",
                    RETRY_SECONDS,
                )
            self._places -= 1
        try:
            self._free.acquire()
        finally:
            with self._lock:
                self._places += 1

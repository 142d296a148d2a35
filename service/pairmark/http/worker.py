"""Works off queued certifications in one thread of this process, oldest first; what a dead process left is taken up again."""

from __future__ import annotations

import logging
import threading
from typing import Annotated

from fastapi import Depends, Request

from pairmark.adapters.telemetry.bound import bound
from pairmark.adapters.telemetry.spans import span
from pairmark.app.errors import Unavailable
from pairmark.app.work_off import work_off
from pairmark.http.services import Services

log = logging.getLogger("pairmark.http")

IDLE_SECONDS = 30
"""How often to look for jobs that another process queued."""


class Worker:
    """One thread, started by the first `wake`. Two processes may judge one job; one result is recorded."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._awake = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Look for jobs now."""
        with self._lock:
            if self._thread is None and not self._stopping.is_set():
                self._thread = threading.Thread(target=self._run, name="certifications", daemon=True)
                self._thread.start()
        self._awake.set()

    def stop(self, seconds: float) -> None:
        """Take up no further job, and wait for the one in hand; if it takes longer, it is done again after the next start."""
        self._stopping.set()
        self._awake.set()
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._awake.clear()
            try:
                self._work_off_all()
            except Unavailable as problem:
                log.warning("queued certifications wait: %s", problem)
            self._awake.wait(IDLE_SECONDS)

    def _work_off_all(self) -> None:
        parts = self._services
        while not self._stopping.is_set():
            with parts.database.reading() as tables:
                waiting = tables.jobs.waiting()
            if not waiting:
                return
            with parts.turns.taken_patiently(), bound(certification_id=waiting[0].id), span("certify"):
                if work_off(parts.database, parts.ledgers, parts.quality, parts.signing, waiting[0], parts.new_id, parts.clock) is None:
                    log.error("certification %s came to nothing", waiting[0].id)


def worker_of(request: Request) -> Worker:
    """The worker of the application that serves this request."""
    worker = request.app.state.worker
    if not isinstance(worker, Worker):
        raise TypeError("expected an application made by create_app")
    return worker


WithWorker = Annotated[Worker, Depends(worker_of)]

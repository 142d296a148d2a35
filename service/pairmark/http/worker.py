"""Works off queued certifications: on SQLite in one thread of one process, oldest first; on PostgreSQL from the queue, in every process."""

from __future__ import annotations

import fcntl
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from pairmark.adapters.telemetry.bound import bound
from pairmark.adapters.telemetry.spans import span
from pairmark.app.errors import Unavailable
from pairmark.app.ports import Tables
from pairmark.app.work_off import HandedBack, Parts, work_off
from pairmark.http.services import Services

if TYPE_CHECKING:
    from pairmark.adapters.jobs.running import Pace

log = logging.getLogger("pairmark.http")

IDLE_SECONDS = 30
"""How often a process on SQLite looks for jobs that another one queued."""

TURN_SECONDS = 0.5
"""How often it looks whether the process that works jobs off is through, or gone."""

LOCK = "certifying.lock"
"""File in the data folder that the process on SQLite which works jobs off holds a lock on; the lock ends with the process."""


class Worker:
    """One thread, started by the first `wake`; it works off one job at a time."""

    def __init__(self, services: Services, pace: Pace | None = None) -> None:
        self._services = services
        self._pace = pace
        self._awake = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._told: Callable[[], None] | None = None

    def wake(self) -> None:
        """Look for jobs now; on PostgreSQL the queue itself tells."""
        with self._lock:
            if self._thread is None and not self._stopping.is_set():
                on_postgresql = self._services.database.engine.dialect.name == "postgresql"
                work = self._queue_runner() if on_postgresql else self._run
                self._thread = threading.Thread(target=work, name="certifications", daemon=True)
                self._thread.start()
        self._awake.set()

    def stop(self, seconds: float) -> None:
        """Take up no further job, and wait for the one in hand; if it takes longer, it is handed back."""
        with self._lock:
            self._stopping.set()
        self._awake.set()
        if self._told is not None:
            self._told()
        if self._thread is not None:
            self._thread.join(seconds)

    def _certify(self, job_id: str, stopping: Callable[[], bool]) -> None:
        services = self._services
        parts = Parts(services.database, services.ledgers, services.quality, services.signing, services.new_id, services.clock)
        with services.turns.taken_patiently(), bound(certification_id=job_id), span("certify"):
            if work_off(parts, job_id, stopping) == "failed":
                log.error("certification %s came to nothing", job_id)

    def _queue_runner(self) -> Callable[[], None]:
        from pairmark.adapters.jobs.running import QueueRunner, Work

        services = self._services
        runner = QueueRunner(services.database.engine.url, Work(self._certify, self._waiting, self._queue_again), self._pace)
        self._told = runner.stop
        return lambda: runner.run(max(1.0, services.settings.shutdown_seconds - 2.0))

    def _waiting(self) -> list[str]:
        with self._services.database.reading() as tables:
            return [job.id for job in tables.jobs.waiting()]

    def _queue_again(self, job_ids: Iterable[str]) -> None:
        def work(tables: Tables) -> None:
            for job_id in job_ids:
                tables.jobs.queue_again(job_id)

        self._services.database.write(work)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._awake.clear()
            try:
                with self._alone() as alone:
                    if alone:
                        self._work_off_all()
            except Unavailable as problem:
                log.warning("queued certifications wait: %s", problem)
            except HandedBack:
                return
            except Exception:
                log.exception("queued certifications wait for the next round")
            self._awake.wait(IDLE_SECONDS)

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Whether no other process works jobs off; waits for it as long as this one is not stopped."""
        with (self._services.settings.data_dir / LOCK).open("ab") as file:
            while not self._stopping.is_set():
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self._stopping.wait(TURN_SECONDS)
                    continue
                yield True
                return
            yield False

    def _work_off_all(self) -> None:
        while not self._stopping.is_set():
            waiting = self._waiting()
            if not waiting:
                return
            self._certify(waiting[0], self._stopping.is_set)


def worker_of(request: Request) -> Worker:
    """The worker of the application that serves this request."""
    worker = request.app.state.worker
    if not isinstance(worker, Worker):
        raise TypeError("expected an application made by create_app")
    return worker


WithWorker = Annotated[Worker, Depends(worker_of)]

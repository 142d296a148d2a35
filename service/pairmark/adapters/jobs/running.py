"""Works off the queue on PostgreSQL: the library's worker in a thread of its own, started again whenever the database was away.

The library tells workers of new jobs, gives each job to one of them, and knows by their heartbeats which are alive. Here every so often jobs of
dead workers are queued again, and so are certifications that wait and that the queue has lost.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.worker import Worker
from psycopg import AsyncConnection
from sqlalchemy import URL

from pairmark.adapters.jobs.deferring import QUEUE, TASK
from pairmark.adapters.sql.postgresql import PREPARING, connecting
from pairmark.domain.errors import one_line

log = logging.getLogger("pairmark.jobs")

CONNECTIONS = 2
"""Of the library's pool; one more listens."""


@dataclass(frozen=True)
class Pace:
    """Seconds: between heartbeats, after which a silent worker counts as dead, between looks for lost jobs, before a failed try is repeated."""

    heartbeat: float = 5.0
    dead: float = 20.0
    look: float = 10.0
    again: float = 5.0


@dataclass(frozen=True)
class Work:
    """What the queue is for. `certify` works off one id until it ends, or until its second argument says that it is to stop."""

    certify: Callable[[str, Callable[[], bool]], object]
    waiting: Callable[[], Iterable[str]]
    queue_again: Callable[[Iterable[str]], None]


class QueueRunner:
    """One worker of the queue, doing one job at a time."""

    def __init__(self, url: URL, work: Work, pace: Pace | None = None) -> None:
        self._url, self._work, self._pace = url, work, Pace() if pace is None else pace
        self._stopping = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._worker: Worker | None = None
        self._ended: dict[int, float] = {}

    def run(self, finish_seconds: float) -> None:
        """Work until `stop`; the job in hand then has `finish_seconds` to end, or is handed back."""
        for name in ("procrastinate", "psycopg.pool"):  # what they say of a database that is away is said here, in a line
            logging.getLogger(name).setLevel(logging.CRITICAL)
        while not self._stopping.is_set():
            try:
                asyncio.run(self._serve(finish_seconds))
                if not self._stopping.is_set():
                    log.warning("queued certifications wait: the database was away")
            except Exception as problem:  # noqa: BLE001 - whatever it was, the queue must not stand still for good
                log.warning("queued certifications wait: %s", one_line(f"{type(problem).__name__}: {problem}", 200))
            self._stopping.wait(self._pace.again)

    def stop(self) -> None:
        """Take up nothing more."""
        self._stopping.set()
        worker = self._worker
        if worker is None:
            return
        with suppress(RuntimeError):  # its loop has just ended by itself
            worker.stop()  # type: ignore[no-untyped-call]

    async def _serve(self, finish_seconds: float) -> None:
        connector = PsycopgConnector(
            min_size=1, max_size=CONNECTIONS, name="queue", timeout=10.0, kwargs=connecting(self._url), configure=_prepare
        )
        app = App(connector=connector)
        app.task(name=TASK, queue=QUEUE, retry=_Again(self._pace.again), pass_context=True)(self._certify)
        async with app.open_async():
            worker = Worker(
                app, queues=[QUEUE], name="pairmark", concurrency=1, delete_jobs="always", install_signal_handlers=False,
                shutdown_graceful_timeout=finish_seconds, fetch_job_polling_interval=self._pace.again,
                update_heartbeat_interval=self._pace.heartbeat, stalled_worker_timeout=self._pace.dead,
            )  # fmt: skip
            self._worker = worker
            looking = asyncio.create_task(self._look_again_and_again(app, worker))
            try:
                running = asyncio.create_task(worker.run())  # type: ignore[no-untyped-call]
                await asyncio.sleep(0)  # the worker forgets an earlier stop when it begins
                if self._stopping.is_set():
                    worker.stop()  # type: ignore[no-untyped-call]
                await running
            finally:
                self._worker = None
                looking.cancel()
                with suppress(asyncio.CancelledError):
                    await looking

    async def _certify(self, context: Any, certification_id: str) -> None:
        """One job, in a thread that a process which ends does not wait for."""
        loop, job_id = asyncio.get_running_loop(), context.job.id
        done: asyncio.Future[None] = loop.create_future()
        told_to_stop = threading.Event()
        self._ended.pop(job_id, None)

        def settle(problem: BaseException | None) -> None:
            if not done.done():
                if problem is None:
                    done.set_result(None)
                else:
                    done.set_exception(problem)

        def work() -> None:
            problem: BaseException | None = None
            try:
                self._work.certify(certification_id, told_to_stop.is_set)
            except Exception as found:  # noqa: BLE001 - carried over to the job
                problem = found
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(settle, problem)

        threading.Thread(target=work, name="certification", daemon=True).start()
        try:
            await done
        finally:
            told_to_stop.set()
            self._ended[job_id] = time.monotonic()

    async def _look_again_and_again(self, app: App, worker: Worker) -> None:
        while True:
            try:
                await self._look(app, worker)
            except Exception as problem:  # noqa: BLE001 - the next look may succeed
                log.warning("lost certifications are looked for again later: %s", one_line(f"{type(problem).__name__}: {problem}", 200))
            await asyncio.sleep(self._pace.look)

    async def _look(self, app: App, worker: Worker) -> None:
        """Queue again what dead workers had taken up, what this one could not say the end of, and what waits outside the queue."""
        manager = app.job_manager
        for job in await manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=self._pace.dead):
            log.warning("the worker of certification %s is gone; it is taken up again", job.queueing_lock)
            await _put_back(app, job)
        waiting = set(await asyncio.to_thread(lambda: list(self._work.waiting())))  # before the queue: what is queued is stored already
        live = [job for job in await manager.list_jobs_async(queue=QUEUE) if job.status in (Status.TODO.value, Status.DOING.value)]
        for job in live:
            ended = None if job.id is None else self._ended.get(job.id)
            if ended is not None and job.status == Status.DOING.value and job.worker_id == worker.worker_id and time.monotonic() - ended > self._pace.dead:
                await _put_back(app, job)
        self._ended = {job_id: at for job_id, at in self._ended.items() if job_id in {job.id for job in live}}
        lost = waiting - {job.queueing_lock for job in live}
        if lost:
            log.warning("%d waiting certifications were not in the queue; they are queued", len(lost))
            await asyncio.to_thread(self._work.queue_again, sorted(lost))


async def _prepare(connection: AsyncConnection[Any]) -> None:
    before = connection.autocommit
    await connection.set_autocommit(True)
    await connection.execute(PREPARING.encode())
    await connection.set_autocommit(before)


async def _put_back(app: App, job: Job) -> None:
    """Queue a job again; if it is in the queue beside itself already, once is enough."""
    try:
        await app.job_manager.retry_job(job)
    except ConnectorException:
        await app.job_manager.finish_job(job, Status.FAILED, delete_job=True)


class _Again(BaseRetryStrategy):
    """A job that could not end is tried again: at once when its worker was told to stop, else a little later."""

    def __init__(self, seconds: float) -> None:
        self._seconds = max(1, round(seconds))

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision:  # noqa: ARG002 - the library's
        return RetryDecision() if isinstance(exception, asyncio.CancelledError) else RetryDecision(retry_in={"seconds": self._seconds})

"""Worker processes that are killed, frozen, stopped, or lose their database."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from pairmark.app.stages import Stage
from pairmark.domain.world import World
from tests.databases import rows_of
from tests.jobs.holding import WorkerProcess, finished, until
from tests.postgres import server
from tests.service.serving import Service

POSTGRESQL_ONLY = pytest.mark.parametrize("kind", ["postgresql"], indirect=True)

Workers = list[WorkerProcess]


@pytest.fixture
def workers() -> Iterator[Workers]:
    """Those that a test starts; they end with it."""
    started: Workers = []
    yield started
    for each in started:
        if each.process.poll() is None:
            each.kill()


def start(workers: Workers, folder: Path, hold: Stage | None = None, **environment: str) -> WorkerProcess:
    workers.append(WorkerProcess(folder, f"worker-{len(workers)}", hold, **environment))
    return workers[-1]


def promised(service: Service, world: World) -> str:
    answer = service.certify(service.submit(world))
    assert answer.status_code == 202, answer.text
    return answer.headers["location"]


def one_of_each(folder: Path) -> None:
    for table, number in (("certifications", 1), ("certificates", 1), ("certificate_releases", 1), ("certification_jobs", 0)):
        assert rows_of(folder, f"SELECT count(*) FROM {table}") == [(number,)], table


def test_a_killed_workers_job_is_taken_up_by_another(service: Service, world: World, folder: Path, workers: Workers) -> None:
    location = promised(service, world)
    first = start(workers, folder, "numbers")
    until(first.is_held)
    assert 0 < service.get(location).json()["progress"]["percent"] < 100
    first.kill()
    assert service.get(location).status_code == 202
    second = start(workers, folder)
    assert finished(service, location)["report"]["verdict"] == "certified"
    one_of_each(folder)
    assert second.stop() == 0
    assert "Traceback" not in second.said


def test_a_worker_that_is_stopped_hands_its_job_back(service: Service, world: World, folder: Path, workers: Workers) -> None:
    first = start(workers, folder, "rules", PAIRMARK_SHUTDOWN_SECONDS="3")
    location = promised(service, world)
    until(first.is_held)
    assert first.stop() == 0
    assert "Traceback" not in first.said
    assert service.get(location).status_code == 202
    second = start(workers, folder)
    finished(service, location)
    assert "is gone" not in second.said
    one_of_each(folder)


@pytest.mark.slow
@POSTGRESQL_ONLY
def test_a_frozen_workers_job_is_done_once_by_another(service: Service, world: World, folder: Path, workers: Workers) -> None:
    first = start(workers, folder, "recording")
    location = promised(service, world)
    until(first.is_held)
    first.process.send_signal(signal.SIGSTOP)
    start(workers, folder)
    done = finished(service, location)
    first.let_go()
    first.process.send_signal(signal.SIGCONT)
    other = service.certify(service.submit(world.set("attacked", 1, duration_ms=7)))
    finished(service, other.headers["location"])
    assert finished(service, location) == done
    assert first.stop() == 0
    assert rows_of(folder, "SELECT count(*) FROM certifications") == [(2,)]


@POSTGRESQL_ONLY
def test_the_queue_outlives_its_database(service: Service, world: World, folder: Path, workers: Workers) -> None:
    location = promised(service, world)
    worker = start(workers, folder, "rules")
    until(worker.is_held)
    other = service.certify(service.submit(world.set("attacked", 1, duration_ms=7))).headers["location"]
    server().stop("immediate")
    worker.let_go()
    server().start()
    finished(service, location)
    finished(service, other)
    assert rows_of(folder, "SELECT count(*) FROM certifications") == [(2,)]
    until(lambda: rows_of(folder, "SELECT count(*) FROM procrastinate_jobs") == [(0,)])


@POSTGRESQL_ONLY
def test_what_the_queue_has_lost_is_queued_again(service: Service, world: World, folder: Path, workers: Workers) -> None:
    location = promised(service, world)
    rows_of(folder, "SELECT 1")
    server().run("DELETE FROM procrastinate_jobs", str(service.app.state.services.database.engine.url.database))
    start(workers, folder)
    finished(service, location)
    one_of_each(folder)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["reading", "rules", "recording"])
def test_killed_again_and_again_it_has_one_result(service: Service, world: World, folder: Path, workers: Workers, stage: Stage) -> None:
    location = promised(service, world)
    for _ in range(2):
        each = start(workers, folder, stage)
        until(each.is_held)
        each.kill()
    start(workers, folder)
    start(workers, folder)
    finished(service, location)
    one_of_each(folder)

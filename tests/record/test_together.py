"""Threads and processes that record one run."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.errors import Conflict
from pairmark.domain.world_parts import suite_value
from pairmark.record import Run, seal
from tests.record.making import attacked, benign, rows
from tests.record.writing import share, work

SUITE = suite_value(20, 10, 1, 1)
CELLS = [(task["id"], item["id"]) for task in SUITE["tasks"] for item in SUITE["injections"]]


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_processes_share_a_run_and_no_cell_is_run_twice(tmp_path: Path, method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(["tests.record.writing"])
    run = attacked(tmp_path, suite=SUITE, max_attempts=2)
    barrier = context.Barrier(4 if method == "forkserver" else 2)
    processes = [context.Process(target=share, args=(tmp_path, barrier)) for _ in range(barrier.parties)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * len(processes)
    run.finish()
    found = rows(tmp_path)
    assert {(row["task_id"], row["injection_id"]) for row in found} == set(CELLS)
    assert sum(row["status"] == "completed" for row in found) == len(CELLS)
    assert len({(row["task_id"], row["injection_id"], row["attempt"]) for row in found}) == len(found)
    assert len({row["attacker_actions"] for row in found if row["status"] == "completed"}) > 1


def test_a_run_goes_to_a_pool_and_each_worker_takes_one_part_in_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.record.writing"])
    with attacked(tmp_path, suite=SUITE) as run, ProcessPoolExecutor(3, mp_context=context) as pool:
        pids = set(pool.map(work, [(run, *cell) for cell in CELLS], chunksize=7))
        sessions = list((tmp_path / "recording" / "sessions").iterdir())
        assert len(sessions) == len(pids)
        assert os.getpid() not in pids
    assert len(rows(tmp_path)) == len(CELLS)


def test_threads_share_a_run(tmp_path: Path) -> None:
    with attacked(tmp_path, suite=SUITE) as run:

        def record(cell: tuple[str, str]) -> None:
            with run.episode(*cell) as episode:
                episode.utility = True

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(record, CELLS))
    assert len(rows(tmp_path)) == len(CELLS)


def test_threads_that_take_what_remains_take_each_cell_once(tmp_path: Path) -> None:
    taken: list[tuple[str, str | None]] = []
    with attacked(tmp_path, suite=SUITE) as run:

        def record() -> None:
            for episode in run.remaining():
                with episode:
                    taken.append((episode.task_id, episode.injection_id))

        threads = [threading.Thread(target=record) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(taken, key=str) == sorted(CELLS, key=str)


def test_a_forked_child_is_a_process_of_its_own(tmp_path: Path) -> None:
    """In a child of its own, since this one may have threads: there a parent begins an episode, forks, and is killed."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.record.writing"])
    process = context.Process(target=_forks_and_dies, args=(tmp_path,))
    process.start()
    process.join(60)
    assert process.exitcode == -9
    while not (tmp_path / "ended").exists():
        time.sleep(0.01)
    seal(tmp_path / "run")  # while the child still lives: it does not keep its dead parent's episode open
    assert (tmp_path / "pipe").read_bytes() == b"alive"
    assert {row["task_id"]: row["status"] for row in rows(tmp_path / "run")} == {"task_000": "cancelled", "task_001": "completed"}


def _forks_and_dies(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    run = benign(folder / "run", suite=SUITE)
    with run.episode("task_000"):
        if os.fork() == 0:
            with run.episode("task_001") as episode:
                episode.utility = True
            (folder / "ended").touch()
            (folder / "pipe").write_bytes(b"alive")  # waits for its reader
            os._exit(0)
        os.kill(os.getpid(), 9)


def test_what_another_living_process_has_open_is_left_to_it(tmp_path: Path) -> None:
    ours, theirs = benign(tmp_path, suite=SUITE), Run.join(tmp_path)
    with ours.episode("task_000") as episode:
        with pytest.raises(Conflict) as caught, theirs.episode("task_000"):
            pass
        assert caught.value.code == "cell-open"
        assert next(theirs.remaining()).task_id == "task_001"
        with pytest.raises(Conflict):
            seal(tmp_path)
        episode.utility = True
    theirs.close()
    assert seal(tmp_path).count == 2


def test_those_who_come_too_late_are_told_that_the_run_is_finished(tmp_path: Path) -> None:
    run, late = benign(tmp_path, suite=SUITE), Run.join(tmp_path)
    episode = late.episode("task_000")
    run.finish()
    with pytest.raises(Conflict) as caught, episode:
        pass
    assert caught.value.code == "sealed"
    with pytest.raises(Conflict, match="sealed"):
        pickle.loads(pickle.dumps(late))


def test_of_two_that_begin_or_finish_at_once_both_have_the_same_run(tmp_path: Path) -> None:
    barrier = threading.Barrier(4)

    def begin(_: int) -> Run:
        barrier.wait()
        return benign(tmp_path, suite=SUITE, resume=True)

    def finish(run: Run) -> str:
        barrier.wait()
        return run.finish().run_digest

    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(begin, range(4)))
        assert len(set(pool.map(finish, runs))) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["episodes.jsonl", "run.json"]

"""`kill -9` at any moment: every episode whose end was told is in the bundle, once, and what was under way is `cancelled`."""

from __future__ import annotations

import multiprocessing
import random
import time
from pathlib import Path

import pytest

from pairmark.domain.world_parts import suite_value
from pairmark.record import Run, seal
from pairmark.record.episode import STOPPED
from tests.record.making import arm, attacked, benign, rows
from tests.record.writing import BEGUN, ENDED, write_until_killed

SUITE = suite_value(999, 0, 1, 1)


def told(path: Path) -> tuple[set[int], set[int]]:
    """Cells that were said to have begun and to have ended; a line that the kill cut off was not said."""
    lines = [line.split() for line in path.read_bytes().split(b"\n")[:-1]] if path.exists() else []
    return ({int(number) for kind, number in lines if kind == BEGUN}, {int(number) for kind, number in lines if kind == ENDED})


def killed(folder: Path, handed_out: Path, rounds: int, chance: random.Random) -> None:
    """Kill the recording process again and again, each time some lines and a moment after it began to tell."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.record.writing"])
    for _ in range(rounds):
        process = context.Process(target=write_until_killed, args=(folder, handed_out))
        process.start()
        enough = lines_in(handed_out) + chance.randint(1, 20)
        while process.is_alive() and lines_in(handed_out) < enough:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.004)
        process.kill()
        process.join()


def lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def whole(folder: Path, handed_out: Path) -> tuple[int, int]:
    """Check the sealed bundle against what was told; how many episodes ended, and how many were cut off."""
    begun, ended = told(handed_out)
    found = rows(folder)
    completed = {int(row["task_id"][5:]): row for row in found if row["status"] == "completed"}
    stopped = [row for row in found if row["status"] == "cancelled"]
    assert len(completed) + len(stopped) == len(found)
    assert ended <= completed.keys()
    assert begun <= {int(row["task_id"][5:]) for row in found}
    for number, row in completed.items():
        assert row["utility"] is (number % 2 == 0)
        assert row["transcript_digest"] == f"sha256:{number:064x}"
    assert {row["error"] for row in stopped} <= {STOPPED}
    assert {row["utility"] for row in stopped} <= {None}
    return len(completed), len(stopped)


def story(folder: Path, rounds: int, seed: int) -> tuple[int, int]:
    benign(folder / "run", suite=SUITE).close()
    killed(folder / "run", folder / "told", rounds, random.Random(seed))
    seal(folder / "run")
    return whole(folder / "run", folder / "told")


def test_a_killed_run_is_whole_up_to_its_last_episode(tmp_path: Path) -> None:
    completed, stopped = story(tmp_path, 8, 1)
    assert completed > 10
    assert 0 < stopped <= 8


@pytest.mark.slow
def test_a_run_that_is_killed_two_hundred_times_is_whole(tmp_path: Path) -> None:
    stories = [story(tmp_path / str(number), 20, number) for number in range(10)]
    assert sum(completed for completed, _ in stories) > 500
    assert sum(stopped for _, stopped in stories) > 20


def test_what_a_dead_process_left_open_is_seen_by_those_that_go_on(tmp_path: Path) -> None:
    few = suite_value(200, 0, 1, 1)
    benign(tmp_path / "run", suite=few).close()
    killed(tmp_path / "run", tmp_path / "told", 3, random.Random(5))
    with Run.resume(tmp_path / "run") as run:
        for episode in run.remaining():
            with episode:
                episode.utility = True
    found = rows(tmp_path / "run")
    assert {row["task_id"] for row in found if row["status"] == "completed"} == {task["id"] for task in few["tasks"]}
    assert len({(row["task_id"], row["attempt"]) for row in found}) == len(found)


@pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.slow)])
def test_a_journal_cut_off_at_any_byte_is_whole_up_to_there(tmp_path: Path, step: int) -> None:
    run = attacked(tmp_path / "run")
    for injection in ("inj_00", "inj_01"):
        with run.episode("task_000", injection) as episode:
            episode.utility = True
    run.close()
    journal = tmp_path / "run" / "recording" / "journal.jsonl"
    data = journal.read_bytes()
    for size in range(0, len(data) + 1, step):
        folder = tmp_path / str(size)
        attacked(folder).close()
        (folder / "recording" / "journal.jsonl").write_bytes(data[:size])
        resumed = Run.resume(folder)
        with resumed.episode("task_003", "inj_02") as episode:
            episode.utility = False
        resumed.finish()
        ends = data[:size].count(b"\n")
        statuses = {row["injection_id"]: row["status"] for row in arm(folder).ledger.rows(named=True)}
        assert statuses.pop("inj_02") == "completed"
        expected = [{}, {"inj_00": "cancelled"}, {"inj_00": "completed"}, {"inj_00": "completed", "inj_01": "cancelled"},
                    {"inj_00": "completed", "inj_01": "completed"}]  # fmt: skip
        assert statuses == expected[ends]

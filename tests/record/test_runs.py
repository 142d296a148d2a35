"""Runs that stop, go on, try again and end."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pairmark.domain.errors import Conflict, Malformed, NotFound
from pairmark.domain.world import World
from pairmark.record import Episode, Run, seal
from tests.record.making import SUITE, arm, attacked, benign, rows


def outcomes(folder: Path) -> list[tuple[str, int, str]]:
    return [(row["task_id"], row["attempt"], row["status"]) for row in rows(folder)]


def test_remaining_is_the_plan_and_each_cell_comes_once(tmp_path: Path) -> None:
    with attacked(tmp_path, epochs=2) as run:
        for episode in run.remaining():
            with episode:
                episode.utility = True
    assert len(rows(tmp_path)) == 4 * 3 * 2
    assert len({(row["task_id"], row["injection_id"], row["epoch"]) for row in rows(tmp_path)}) == 24


def test_remaining_meets_a_grid_and_groups_as_planned(tmp_path: Path) -> None:
    groups = {**SUITE, "injections": [{**item, "group": "g0" if code else "other"} for code, item in enumerate(SUITE["injections"])]}
    grid = {**SUITE, "grid": [{"task": "task_001", "injection": "inj_02"}]}
    planned = {}
    for name, suite in (("groups", groups), ("grid", grid)):
        with attacked(tmp_path / name, suite=suite) as run:
            planned[name] = [(episode.task_id, episode.injection_id) for episode in run.remaining()]
    assert len(planned["groups"]) == 8
    assert planned["grid"] == [("task_001", "inj_02")]


def test_a_failed_cell_comes_again_as_the_next_attempt_as_often_as_it_may(tmp_path: Path) -> None:
    def fails(episode: Episode) -> bool:
        return episode.task_id == "task_000" or (episode.task_id == "task_001" and episode.attempt == 1)

    with benign(tmp_path, max_attempts=3) as run:
        for episode in run.remaining():
            with episode:
                if fails(episode):
                    raise ConnectionError
                episode.utility = True
    assert outcomes(tmp_path) == [
        ("task_000", 1, "infra_error"), ("task_000", 2, "infra_error"), ("task_000", 3, "infra_error"),
        ("task_001", 1, "infra_error"), ("task_001", 2, "completed"), ("task_002", 1, "completed"), ("task_003", 1, "completed"),
    ]  # fmt: skip


def test_a_cell_with_an_outcome_or_without_attempts_left_or_under_way_is_refused(tmp_path: Path) -> None:
    run = benign(tmp_path)
    with run.episode("task_000"):
        pass
    with run.episode("task_001"):
        raise OSError
    codes = []
    with run.episode("task_002"):
        for task in ("task_000", "task_001", "task_002"):
            with pytest.raises(Conflict) as caught, run.episode(task):
                pass
            codes.append(caught.value.code)
    assert codes == ["cell-recorded", "attempts-used", "cell-open"]


def test_an_episode_that_was_handed_out_and_not_run_is_cancelled_and_ends(tmp_path: Path) -> None:
    with benign(tmp_path, max_attempts=2) as run:
        assert sum(1 for _ in run.remaining()) == 8
    assert {status for _, _, status in outcomes(tmp_path)} == {"cancelled"}


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path) -> None:
    def interrupted() -> None:
        with benign(tmp_path) as run:
            for episode in run.remaining():
                with episode:
                    if episode.task_id == "task_002":
                        raise KeyboardInterrupt
                    episode.utility = True

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with Run.resume(tmp_path) as run:
        done = []
        for episode in run.remaining():
            with episode:
                done.append(episode.task_id)
    assert done == ["task_002", "task_003"]
    assert outcomes(tmp_path)[2:4] == [("task_002", 1, "cancelled"), ("task_002", 2, "completed")]


def test_the_same_command_again_resumes_and_another_one_is_refused(tmp_path: Path) -> None:
    benign(tmp_path).close()
    with pytest.raises(Conflict) as caught:
        benign(tmp_path)
    assert caught.value.code == "exists"
    with pytest.raises(Conflict, match="harness, retries") as caught:
        benign(tmp_path, resume=True, max_attempts=2, harness={"name": "other"})
    assert caught.value.code == "other-run"
    with benign(tmp_path, resume=True), pytest.raises(Conflict):
        attacked(tmp_path, resume=True)


def test_a_finished_run_is_never_changed_and_finishing_again_says_the_same(tmp_path: Path) -> None:
    run = benign(tmp_path)
    with run.episode("task_000"):
        pass
    first = run.finish()
    held = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(held) == {"run.json", "episodes.jsonl"}
    assert run.finish() == seal(tmp_path) == first
    for attempt in (lambda: Run.resume(tmp_path), lambda: Run.join(tmp_path), lambda: benign(tmp_path, resume=True),
                    lambda: run.episode("task_001").__enter__()):  # fmt: skip
        with pytest.raises(Conflict) as caught:
            attempt()
        assert caught.value.code == "sealed"
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == held
    assert (first.count, first.digest) == (1, arm(tmp_path).ledger_digest)


def test_a_run_is_not_finished_under_an_episode(tmp_path: Path) -> None:
    run = benign(tmp_path)
    with run.episode("task_000") as episode:
        with pytest.raises(Conflict, match="task_000") as caught:
            run.finish()
        episode.utility = True
    assert caught.value.code == "still-open"
    run.finish()
    assert rows(tmp_path)[0]["utility"] is True


def test_nothing_to_resume_or_seal_is_said(tmp_path: Path) -> None:
    for attempt in (Run.resume, Run.join, seal):
        with pytest.raises(NotFound):
            attempt(tmp_path / "none")


def test_a_finish_that_was_interrupted_at_any_file_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Path.replace
    for crash in itertools.count():
        folder, calls = tmp_path / str(crash), itertools.count()

        def failing(self: Path, target: Path, calls: itertools.count[int] = calls, crash: int = crash) -> Path:
            if next(calls) == crash:
                raise OSError("the disk is full")
            return kept(self, target)

        run = benign(folder)
        with run.episode("task_000") as episode:
            episode.utility = True
        monkeypatch.setattr(Path, "replace", failing)
        try:
            first = run.finish()
        except OSError:
            first = None
        monkeypatch.setattr(Path, "replace", kept)
        assert seal(folder).count == len(rows(folder)) == 1
        assert sorted(path.name for path in folder.iterdir()) == ["episodes.jsonl", "run.json"]
        if first is not None:
            break
    assert crash == 2


def test_a_recording_left_beside_a_finished_bundle_is_cleared_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = benign(tmp_path)
    with run.episode("task_000"):
        pass
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", lambda *_, **__: None)
        first = run.finish()
    assert (tmp_path / "recording").is_dir()
    assert seal(tmp_path) == first
    assert not (tmp_path / "recording").exists()


def test_the_end_is_the_last_thing_recorded_whenever_it_is_sealed(tmp_path: Path) -> None:
    run = benign(tmp_path)
    with run.episode("task_000"):
        pass
    entries = [json.loads(line) for line in (tmp_path / "recording" / "journal.jsonl").read_bytes().splitlines()]
    run.close()
    seal(tmp_path)
    found = arm(tmp_path).run
    assert found.finished_at == entries[-1]["at"]
    assert found.started_at is not None
    assert found.started_at <= entries[0]["at"]


@pytest.mark.parametrize(
    ("line", "found"),
    [(b"{\n", "JSON"), (b"[]\n", "a start or an end"), (b'{"event":"pause"}\n', "a start or an end"), (b'{"event":"start"}\n', "task_id"),
     (b'{"event":"end","at":"x","row":{"task_id":"a","injection_id":null,"epoch":1,"attempt":1,"status":"completed"}}\n', "KeyError"),
     (b"\0\0\0\n", "JSON")],
)  # fmt: skip
def test_a_damaged_journal_is_refused_with_its_place(tmp_path: Path, line: bytes, found: str) -> None:
    benign(tmp_path).close()
    with (tmp_path / "recording" / "journal.jsonl").open("ab") as file:
        file.write(line)
    with pytest.raises(Malformed, match=found) as caught:
        seal(tmp_path)
    assert caught.value.code == "damaged-journal"
    assert not (tmp_path / "run.json").exists()


def test_recorded_arms_certify(tmp_path: Path) -> None:
    world = World()
    (tmp_path / "suite.json").write_text(json.dumps(world.suite))
    for role, side in world.sides.items():
        value = side.value
        with Run(
            tmp_path / role, suite=tmp_path / "suite.json", arm=value["arm"], system=value["system"], harness=value["harness"],
            attack=value["attack"], epochs={item["epoch"]: item["seed"] for item in value["epochs"]}, sync="finish",
        ) as run:  # fmt: skip
            known = {(row["task_id"], row["injection_id"], row["epoch"]): row for row in side.frame.iter_rows(named=True)}
            for episode in run.remaining():
                with episode:
                    row = known[episode.task_id, episode.injection_id, episode.epoch]
                    for name in ("utility", "attack_success", "delivered", "attacker_actions", "served_model", "task_digest",
                                 "transcript_digest", "duration_ms"):  # fmt: skip
                        setattr(episode, name, row[name])
        assert arm(tmp_path / role).ledger.equals(side.frame)
    command = [sys.executable, "-m", "pairmark.cli.main", "check", "--suite", "suite.json", "--benign", "benign"]
    done = subprocess.run(
        [*command, "--attacked", "attacked", "--baseline", "baseline"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr

"""Forks and defenses that write AgentDojo's files: what is there is read, what is not is said, and what was mixed is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.errors import Malformed
from pairmark.importers.agentdojo import IMPORTER
from tests.agentdojo.samples import CAMEL, DRIFT, GPT4O, PROGENT, REPEAT, TOOL_FILTER, Samples, unpack
from tests.importers.logs import manifest, put, read, record, status_counts


@pytest.fixture(scope="module")
def samples(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Samples:
    runs = tmp_path_factory.mktemp("family")
    for name in (GPT4O, REPEAT, DRIFT, CAMEL, TOOL_FILTER, PROGENT):
        unpack(shared / "samples" / "agentdyn" / "raw" / f"{name}.tar.gz", runs)
    return Samples(runs)


def test_a_run_that_was_killed_at_once_is_three_cells_that_took_place(samples: Samples) -> None:
    found = samples.read(TOOL_FILTER, "benign")
    assert status_counts(found.episodes) == {"cancelled": 3}
    assert found.episodes["utility"].null_count() == 3
    assert found.set_aside == {"injection tasks run as user tasks": 3}
    assert found.unreadable == ()
    with pytest.raises(Malformed, match="found none"):
        samples.read(TOOL_FILTER, "attacked")


@pytest.mark.parametrize("arm", ["benign", "attacked"])
def test_a_folder_of_nothing_but_injection_tasks_is_no_run(samples: Samples, arm: Any) -> None:
    assert IMPORTER.recognises([samples.runs / PROGENT])
    with pytest.raises(Malformed) as caught:
        read(samples.runs / PROGENT, arm, manifest({"travel": (2, 7)}))
    assert caught.value.code == "no-episodes"


def test_every_file_is_an_episode_or_is_set_aside(samples: Samples) -> None:
    for pipeline in (GPT4O, REPEAT, DRIFT, CAMEL):
        files = sum(1 for _ in (samples.runs / pipeline).rglob("*.json"))
        benign, attacked = (samples.read(pipeline, arm) for arm in ("benign", "attacked"))
        apart = benign.set_aside.get("injection tasks run as user tasks", 0)
        assert benign.episodes.height + attacked.episodes.height + apart == files
        assert benign.unreadable == attacked.unreadable == ()
        assert attacked.set_aside["files of other arms"] == benign.episodes.height


def test_what_the_folder_is_called_is_the_arm_whatever_the_files_call_it(samples: Samples) -> None:
    """DRIFT's files name the bare model, CaMeL's join the two with a plus."""
    names = {name: json.loads(next((samples.runs / name).rglob("none.json")).read_bytes())["pipeline_name"] for name in (DRIFT, CAMEL)}
    assert names == {DRIFT: GPT4O, CAMEL: "gpt-4o-mini-2024-07-18+camel"}
    for name in names:
        run = samples.read(name, "benign").run
        assert (run["system"]["defenses"], run["system"]["model"]) == (None, None)


def test_seeds_of_a_real_run_are_epochs(samples: Samples, tmp_path: Path) -> None:
    for seed in (7, 11):
        shutil.copytree(samples.runs / DRIFT, tmp_path / f"seed-{seed}" / DRIFT)
    with pytest.raises(Malformed, match="copied-epoch"):  # which the second one is, until it took another time
        IMPORTER.read([tmp_path], suite=samples.suite, suite_digest=samples.digest, arm="attacked")
    for path in (tmp_path / "seed-11").rglob("*.json"):
        value = json.loads(path.read_bytes())
        path.write_text(json.dumps({**value, "duration": (value.get("duration") or 0) + 1}), encoding="utf-8")
    found = IMPORTER.read([tmp_path], suite=samples.suite, suite_digest=samples.digest, arm="attacked")
    assert found.run["epochs"] == [{"epoch": 1, "seed": 7}, {"epoch": 2, "seed": 11}]
    assert (found.episodes.height, found.episodes["utility"].sum(), found.episodes["attack_success"].sum()) == (1120, 304, 10)


def test_a_folder_that_two_harnesses_wrote_is_refused_with_both_named(samples: Samples, tmp_path: Path) -> None:
    shutil.copytree(samples.runs / DRIFT, tmp_path / "run")
    place = Path("github/user_task_3/none/none.json")
    shutil.copy(samples.runs / GPT4O / place, tmp_path / "run" / place)
    with pytest.raises(Malformed, match=r"v1\.2' in 59 files.*v1\.2\.2' in 1 files") as caught:
        IMPORTER.read([tmp_path / "run"], suite=samples.suite, suite_digest=samples.digest, arm="benign")
    assert caught.value.code == "mixed-benchmark-versions"


DRIFTS = {"build_constraints": True, "injection_isolation": True, "dynamic_validation": True, "adaptive_attack": False}


def drift(task: str, **changed: Any) -> dict[str, Any]:
    """A record as DRIFT's fork writes it: content as text, no package version, no payloads, its own switches."""
    messages = [{"role": "user", "content": "Pay."}, {"role": "assistant", "content": "Done.", "tool_calls": []}]
    return {
        **record(task, messages=messages, leave_out=("injections", "agentdojo_package_version", "error")), **DRIFTS,
        "tool_permission": {"send_money": "Execute"}, "initial_trajectory": [], "initial_checklist": "[]", "total_tokens": 3, **changed,
    }  # fmt: skip


def test_a_fork_with_keys_of_its_own_is_read(tmp_path: Path) -> None:
    put(tmp_path, drift("user_task_0"))
    found = read(tmp_path, "benign")
    row = found.episodes.row(0, named=True)
    assert (row["status"], row["utility"], row["duration_ms"]) == ("completed", True, 1500)
    assert found.run["harness"]["version"] is None
    assert any("package version" in note for note in found.notes)


@pytest.mark.parametrize("switch", DRIFTS)
def test_a_folder_that_was_resumed_with_another_switch_is_refused(tmp_path: Path, switch: str) -> None:
    put(tmp_path, drift("user_task_0"))
    put(tmp_path, drift("user_task_1", **{switch: not DRIFTS[switch]}))
    with pytest.raises(Malformed, match=switch) as caught:
        read(tmp_path, "benign")
    assert caught.value.code == "mixed-defense-settings"


def test_a_folder_that_was_resumed_without_the_fork_is_refused(tmp_path: Path) -> None:
    put(tmp_path, drift("user_task_0", agentdojo_package_version="0.1.35", messages=record()["messages"]))
    put(tmp_path, record("user_task_1"))
    with pytest.raises(Malformed, match="unrecorded") as caught:
        read(tmp_path, "benign")
    assert caught.value.code == "mixed-defense-settings"

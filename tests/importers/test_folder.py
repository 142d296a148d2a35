"""Which files of a folder are episodes of a run, and which epoch they are of."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.errors import Malformed
from pairmark.importers.agentdojo import IMPORTER
from pairmark.importers.base import ArmName
from tests.importers.logs import ATTACK, manifest, one, put, read, record


def pipeline(folder: Path, tasks: int = 1, injections: int = 1) -> Path:
    for task in range(tasks):
        put(folder, record(f"user_task_{task}"))
        for injection in range(injections):
            put(folder, record(f"user_task_{task}", f"injection_task_{injection}"))
    return folder


def refusal(paths: Path | Sequence[Path], code: str, arm: ArmName = "benign", **options: Any) -> str:
    with pytest.raises(Malformed) as caught:
        read(paths, arm, **options)
    assert caught.value.code == code
    assert caught.value.remedy
    return str(caught.value)


def test_the_benign_arm_is_none_none_and_the_attacked_arm_the_attacks_folder(tmp_path: Path) -> None:
    pipeline(tmp_path, 2, 2)
    benign, attacked = read(tmp_path, "benign"), read(tmp_path, "attacked")
    assert benign.episodes["injection_id"].to_list() == [None, None]
    assert attacked.episodes.select("task_id", "injection_id").rows() == [
        (f"user_task_{task}", f"injection_task_{injection}") for task in range(2) for injection in range(2)
    ]
    assert benign.set_aside == {"files of other arms": 4}
    assert attacked.set_aside == {"files of other arms": 2}
    assert benign.run["attack"] is None
    assert attacked.run["attack"] == {"name": ATTACK, "digest": None}


def test_injection_tasks_run_as_user_tasks_are_set_apart_and_counted(tmp_path: Path) -> None:
    pipeline(tmp_path)
    for number in range(3):  # two that the manifest lists, and one that it does not
        put(tmp_path, record(f"injection_task_{number}"))
    found = read(tmp_path, "benign")
    assert found.episodes["task_id"].to_list() == ["user_task_0"]
    assert found.set_aside["injection tasks run as user tasks"] == 3


def test_a_task_that_the_manifest_does_not_list_stays_for_the_rules_to_judge(tmp_path: Path) -> None:
    put(tmp_path, record("user_task_77"))
    assert one(tmp_path, "benign")["task_id"] == "user_task_77"


def test_other_suites_of_the_harness_are_counted_and_left_out(tmp_path: Path) -> None:
    pipeline(tmp_path)
    put(tmp_path, record(suite="slack"))
    found = read(tmp_path, "benign")
    assert found.episodes.height == 1
    assert found.set_aside["files of other suites"] == 1


def test_ids_are_qualified_where_the_manifest_spans_several_suites(tmp_path: Path) -> None:
    for name in ("bank", "shop"):
        put(tmp_path, record("user_task_0", "injection_task_1", suite=name))
    found = read(tmp_path, "attacked", manifest({"bank": (1, 2), "shop": (1, 2)}))
    assert found.episodes.select("task_id", "injection_id").rows() == [
        ("bank/user_task_0", "bank/injection_task_1"),
        ("shop/user_task_0", "shop/injection_task_1"),
    ]


def test_several_paths_are_epochs_in_their_order(tmp_path: Path) -> None:
    found = read([pipeline(tmp_path / "second" / "model"), pipeline(tmp_path / "first" / "model")], "benign")
    assert found.run["epochs"] == [{"epoch": 1, "seed": None}, {"epoch": 2, "seed": None}]
    assert found.episodes["epoch"].to_list() == [1, 2]


@pytest.mark.parametrize("inner", ["", "model"])
def test_a_parent_of_seed_folders_is_an_epoch_each_by_number(tmp_path: Path, inner: str) -> None:
    for seed in (10, 2, 0):
        pipeline(tmp_path / f"seed-{seed}" / inner)
    assert read(tmp_path, "benign").run["epochs"] == [
        {"epoch": 1, "seed": 0},
        {"epoch": 2, "seed": 2},
        {"epoch": 3, "seed": 10},
    ]


def test_a_pipeline_directory_directly_in_a_seed_folder_has_its_seed(tmp_path: Path) -> None:
    folders = [pipeline(tmp_path / f"seed-{seed}" / "model") for seed in (4, 3)]
    assert read(folders, "benign").run["epochs"] == [{"epoch": 1, "seed": 4}, {"epoch": 2, "seed": 3}]


def test_an_epoch_can_be_numbered(tmp_path: Path) -> None:
    found = read(pipeline(tmp_path), "benign", epoch=3)
    assert found.run["epochs"] == [{"epoch": 3, "seed": None}]
    assert found.episodes["epoch"].to_list() == [3]


def test_one_number_for_several_folders_is_refused(tmp_path: Path) -> None:
    refusal([pipeline(tmp_path / "a"), pipeline(tmp_path / "b")], "usage", epoch=3)


def test_the_same_folder_twice_is_refused(tmp_path: Path) -> None:
    refusal([pipeline(tmp_path / "a"), tmp_path / "a" / ".." / "a"], "usage")


@pytest.mark.parametrize("make", [False, True])
def test_a_folder_that_is_not_there_or_empty_is_refused(tmp_path: Path, make: bool) -> None:
    if make:
        (tmp_path / "a").mkdir()
    refusal(tmp_path / "a", "no-records" if make else "not-a-folder")


def test_a_file_is_no_pipeline_directory(tmp_path: Path) -> None:
    refusal(put(tmp_path, record()), "not-a-folder")


def test_a_folder_of_pipelines_is_refused_with_their_names(tmp_path: Path) -> None:
    for name in ("gpt", "gpt-filter"):
        pipeline(tmp_path / name)
    message = refusal(tmp_path, "several-pipelines")
    assert "gpt-filter" in message


def test_a_seed_folder_with_several_pipelines_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        pipeline(tmp_path / "seed-1" / name)
    refusal(tmp_path, "several-pipelines")


def test_two_attacks_in_one_directory_are_two_runs(tmp_path: Path) -> None:
    pipeline(tmp_path)
    put(tmp_path, record(injection="injection_task_0", attack_type="direct"))
    message = refusal(tmp_path, "mixed-attacks", "attacked")
    assert "direct" in message
    assert ATTACK in message
    assert read(tmp_path, "attacked", attack="direct").run["attack"] == {"name": "direct", "digest": None}
    refusal(tmp_path, "no-episodes", "attacked", attack="tool_knowledge")


def test_an_attack_in_a_benign_arm_is_refused(tmp_path: Path) -> None:
    refusal(pipeline(tmp_path), "usage", attack=ATTACK)


def test_a_folder_without_an_attacked_run_is_no_attacked_arm(tmp_path: Path) -> None:
    refusal(pipeline(tmp_path, injections=0), "no-episodes", "attacked")


def test_a_folder_of_another_suite_has_no_episodes(tmp_path: Path) -> None:
    put(tmp_path, record(suite="slack"))
    refusal(tmp_path, "no-episodes")


def test_what_lies_elsewhere_or_is_hidden_is_no_episode(tmp_path: Path) -> None:
    pipeline(tmp_path)
    for at in (
        "notes.json", "bank/summary.json", "bank/user_task_0/none/.none.json", "bank/user_task_0/none/none.json.bak",
        f".bank/user_task_1/{ATTACK}/injection_task_0.json", "bank/user_task_0/none/deeper/still/none.json",
    ):  # fmt: skip
        put(tmp_path, b"{", at)
    put(tmp_path, record("user_task_1"), "bank/user_task_1/none/injection_task_0.json")
    found = read(tmp_path, "benign")
    assert found.episodes.height == 1
    assert found.set_aside["misplaced files"] == 1
    assert found.unreadable == ()


def test_a_link_to_a_file_outside_is_not_followed(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "run")
    outside = put(tmp_path / "elsewhere", record("user_task_1"))
    place = folder / "bank/user_task_1/none/none.json"
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    found = read(folder, "benign")
    assert [item.reason for item in found.unreadable] == ["expected a file of this folder, found a link that leaves it"]
    assert found.episodes["status"].to_list() == ["completed", "cancelled"]


def test_a_link_to_a_folder_outside_is_not_followed_but_counted(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "run")
    put(tmp_path / "elsewhere", record("user_task_1"))
    (folder / "bank" / "user_task_1").symlink_to(tmp_path / "elsewhere/bank/user_task_1")
    found = read(folder, "benign")
    assert found.episodes.height == 1
    assert found.set_aside["links that leave the folder"] == 1


def test_links_inside_the_folder_are_followed_and_a_loop_ends(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "run")
    (folder / "bank" / "user_task_1").symlink_to(folder / "bank" / "user_task_0")
    (folder / "bank" / "user_task_0" / "none" / "loop").symlink_to(folder)
    found = read(folder, "benign")
    assert [item.reason[:8] for item in found.unreadable] == ["expected"], (
        "the record says user_task_0, its place user_task_1"
    )


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    pipeline(tmp_path / "run")
    (tmp_path / "link").symlink_to(tmp_path / "run")
    assert read(tmp_path / "link", "benign").episodes.height == 1


def test_the_order_of_a_file_system_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline(tmp_path, 2, 2)
    put(tmp_path, b"{", f"bank/user_task_0/{ATTACK}/injection_task_1.json")
    put(tmp_path, b"{", f"bank/user_task_1/{ATTACK}/injection_task_1.json")
    before = read(tmp_path)
    scan = os.scandir
    monkeypatch.setattr("os.scandir", lambda path: sorted(scan(path), key=lambda entry: entry.name, reverse=True))
    after = read(tmp_path)
    assert before.episodes.equals(after.episodes)
    assert before.unreadable == after.unreadable


@pytest.mark.parametrize("name", ["user_task_0\nx", "user_task_\x7f", os.fsdecode(b"user_task_\xff")])
def test_a_name_that_no_id_can_have_is_refused(tmp_path: Path, name: str) -> None:
    put(tmp_path, record(), f"bank/{name}/none/none.json")
    message = refusal(tmp_path, "bad-name")
    assert message.isprintable()


def test_recognising_asks_for_a_pipeline_directory_and_never_raises(tmp_path: Path) -> None:
    assert IMPORTER.recognises([pipeline(tmp_path / "run")])
    assert not IMPORTER.recognises([])
    assert not IMPORTER.recognises([tmp_path])
    assert not IMPORTER.recognises([tmp_path / "none"])
    assert not IMPORTER.recognises([tmp_path / "run", tmp_path / "none"])

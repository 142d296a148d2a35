"""Nothing that may have been meant as a log file is left out without being counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairmark.importers.agentdojo.aside import BESIDE, ENDING, FOLDER, HIDDEN, LEVEL, LINKS
from tests.importers.logs import put, read, record


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("bank/user_task_1/none/none.JSON", ENDING),
        ("bank/user_task_1/none/none.json.gz", ENDING),
        ("bank/.user_task_1/none/none.json", HIDDEN),
        ("bank/user_task_1/none/.none.json", HIDDEN),
        ("bank/user_task_1/none/deeper/none.json", LEVEL),
        ("bank/user_task_1/none.json", LEVEL),
        ("none.json", LEVEL),
        ("bank/user_task_1/none/none.json/readme", FOLDER),
    ],
)
def test_a_file_where_no_log_file_is_looked_for_is_counted(tmp_path: Path, place: str, kind: str) -> None:
    put(tmp_path, record("user_task_0"))
    put(tmp_path, b"{}", place)
    put(tmp_path, b"", "bank/user_task_0/none/notes.txt")
    found = read(tmp_path, "benign")
    assert found.episodes["task_id"].to_list() == ["user_task_0"]
    assert found.set_aside == {kind: 1}


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        *((f"{name}/model/bank/user_task_1/none/none.json", BESIDE) for name in ("seed_4", "Seed-4", "seed-6x", "seed-", "other")),
        ("seed_4/bank/user_task_1/none/none.json.gz", BESIDE),
        ("seed_4/none.json", BESIDE),
        (".seed-5/model/bank/user_task_1/none/none.json", HIDDEN),
        ("seed-1/.model/bank/user_task_1/none/none.json", HIDDEN),
        ("seed_4/.none.json", HIDDEN),
        ("seed-1/none.json", LEVEL),
        ("seed-1/bank/user_task_1.json", LEVEL),
        ("none.json", LEVEL),
    ],
)
def test_a_log_file_beside_the_seed_folders_or_their_pipelines_is_counted(tmp_path: Path, place: str, kind: str) -> None:
    for seed in (1, 2):
        put(tmp_path / f"seed-{seed}" / "model", record("user_task_0"))
    put(tmp_path, record("user_task_1"), place)
    put(tmp_path, b"", "seed_4/notes.txt")
    found = read(tmp_path, "benign")
    assert found.episodes.select("task_id", "epoch").rows() == [("user_task_0", 1), ("user_task_0", 2)]
    assert found.set_aside == {kind: 1}


@pytest.mark.parametrize("at", ["seed-3", "seed-1/other", "seed_4"])
@pytest.mark.parametrize("is_there", [True, False])
def test_an_epoch_that_is_a_link_to_elsewhere_is_not_followed_but_counted(tmp_path: Path, at: str, is_there: bool) -> None:
    runs, disk = tmp_path / "runs", tmp_path / "disk"
    for seed in (1, 2):
        put(runs / f"seed-{seed}" / "model", record("user_task_0"))
    if is_there:
        put(disk / "model", record("user_task_1"))
    (runs / at).symlink_to(disk)
    found = read(runs, "benign")
    assert found.episodes["epoch"].to_list() == [1, 2]
    assert found.set_aside == {LINKS: 1}


def test_an_epoch_that_is_a_link_inside_or_is_named_itself_is_read_and_not_set_aside(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    put(runs / "seed-1" / "model", record("user_task_0"))
    put(runs / "store" / "model", record("user_task_0"))
    put(runs / "late" / "model", record("user_task_0"))
    (runs / "seed-2").symlink_to("store")
    found = read([runs, runs / "late" / "model"], "benign")
    assert found.episodes["epoch"].to_list() == [1, 2, 3]
    assert found.set_aside == {}


def test_files_in_are_episodes_plus_what_was_set_aside(tmp_path: Path) -> None:
    for name in ("seed-1/model", "seed-2/model", "seed_3/model", "seed-4x/model"):
        for task in range(2):
            put(tmp_path / name, record(f"user_task_{task}"))
    found = read(tmp_path, "benign")
    assert found.episodes.height + sum(found.set_aside.values()) == len(list(tmp_path.rglob("*.json")))

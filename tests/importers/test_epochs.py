"""Epochs of one run are of one pipeline, and each was run for itself."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.errors import Malformed
from pairmark.importers.registry import installed_importers
from pairmark.importers.tau_bench.examples import MANIFEST, item
from tests.importers.logs import DIGEST, put, read, record, suite
from tests.importers.reading_one import read_file


def pipeline(folder: Path, **changed: Any) -> Path:
    for task in range(2):
        put(folder, record(f"user_task_{task}", **changed))
    return folder


def refusal(paths: list[Path], code: str) -> str:
    with pytest.raises(Malformed) as caught:
        read(paths, "benign")
    assert caught.value.code == code
    assert caught.value.remedy
    return str(caught.value)


def test_seed_folders_of_two_pipelines_are_refused_with_both_named(tmp_path: Path) -> None:
    pipeline(tmp_path / "seed-0" / "gpt")
    pipeline(tmp_path / "seed-1" / "gpt-filter")
    said = refusal([tmp_path], "several-pipelines")
    assert "'gpt'" in said
    assert "'gpt-filter'" in said


def test_paths_of_two_pipelines_are_refused_and_of_one_under_several_parents_are_not(tmp_path: Path) -> None:
    refusal([pipeline(tmp_path / "gpt"), pipeline(tmp_path / "claude")], "several-pipelines")
    refusal([pipeline(tmp_path / "a" / "seed-0"), pipeline(tmp_path / "b" / "seed-1")], "several-pipelines")
    found = read([pipeline(tmp_path / parent / "gpt") for parent in ("monday", "tuesday")], "benign")
    assert found.episodes["epoch"].to_list() == [1, 2, 1, 2]


def test_a_seed_is_there_once_however_it_is_written(tmp_path: Path) -> None:
    for name in ("seed-1", "seed-01"):
        pipeline(tmp_path / name / "model")
    assert "seed 1 in" in refusal([tmp_path], "repeated-seed")


@pytest.mark.parametrize("indent", [4, None])
def test_a_copied_seed_folder_is_no_epoch_however_its_files_are_laid_out(tmp_path: Path, indent: int | None) -> None:
    pipeline(tmp_path / "seed-0" / "model")
    shutil.copytree(tmp_path / "seed-0", tmp_path / "seed-1")
    for path in (tmp_path / "seed-1").rglob("*.json"):
        path.write_text(json.dumps(json.loads(path.read_bytes()), indent=indent), encoding="utf-8")
    assert "all 2 shared cells of epoch 2" in refusal([tmp_path], "copied-epoch")


def test_a_copy_that_lacks_a_cell_is_one_still_and_a_stub_that_repeats_itself_is_none(tmp_path: Path) -> None:
    pipeline(tmp_path / "seed-0" / "model")
    shutil.copytree(tmp_path / "seed-0", tmp_path / "seed-1")
    (tmp_path / "seed-1/model/bank/user_task_1/none/none.json").unlink()
    refusal([tmp_path], "copied-epoch")
    pipeline(tmp_path / "seed-1" / "model")  # the same words, written at another time
    assert read([tmp_path], "benign").episodes.height == 4


def test_trials_of_tau_bench_that_are_copies_are_refused(tmp_path: Path) -> None:
    trials = [item(task, trial, 1.0) for task in (0, 1) for trial in (0, 1)]
    (tmp_path / "r.json").write_text(json.dumps(trials), encoding="utf-8")
    with pytest.raises(Malformed, match="copied-epoch"):
        read_file("tau-bench", tmp_path / "r.json", MANIFEST, "benign")
    (tmp_path / "r.json").write_text(json.dumps([*trials[:3], item(1, 1, 0.0)]), encoding="utf-8")
    assert read_file("tau-bench", tmp_path / "r.json", MANIFEST, "benign").episodes.height == 4


@pytest.mark.parametrize("number", [0, -1, 10**30, True])
def test_a_number_that_no_epoch_has_is_refused_by_every_reader(tmp_path: Path, number: int) -> None:
    for importer in installed_importers().values():
        example = importer.examples[0]
        for path, text in example.files.items():
            (tmp_path / importer.name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / importer.name / path).write_text(text, encoding="utf-8")
        with pytest.raises(Malformed) as caught:
            importer.read(
                [tmp_path / importer.name], suite=suite(), suite_digest=DIGEST, arm=example.arm, attack=example.attack, epoch=number
            )
        assert caught.value.code == "usage", importer.name

"""`pairmark doctor` and `pairmark import` on cells that are not the manifest's: never ready, never silent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pairmark.app.trial_cells import cells_of
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.world import World
from pairmark.importers.base import Imported
from tests.cli.conftest import here as here  # noqa: PLC0414 - a fixture
from tests.cli.running import Done, Here
from tests.mapping.files import MAPPING, write


def _doctor(here: Here, tmp_path: Path, world: World, *, times: int = 1, form: str = "json", **columns: Any) -> Done:
    """Doctor over one log with both arms, whose rows stand there `times` times."""
    made = write(world, tmp_path)
    log = tmp_path / "log.jsonl"
    log.write_bytes((made["benign"].read_bytes() + made["attacked"].read_bytes()) * times)
    told = json.loads(json.dumps(MAPPING))
    told["arms"] = {"benign": {"where": [{"column": "attack", "is": [None]}]}, "attacked": {"where": [{"column": "attack", "is_not": [None]}]}}
    told["columns"] = {**told["columns"], **columns}
    made["mapping"].write_text(json.dumps(told), encoding="utf-8")
    return here(
        "doctor", log, "--suite", made["suite"], "--mapping", made["mapping"], "--system", made["attacked-system"], "--format", form
    )


def _outlook(done: Done, rule: str) -> str:
    return str(next(each["outlook"] for each in json.loads(done.out)["rules"] if each["rule"] == rule))


def test_ids_that_the_manifest_does_not_have_are_named_with_a_near_one(here: Here, tmp_path: Path) -> None:
    done = _doctor(here, tmp_path, World(), task_id={"column": "/cell/goal", "prefix": "user_"})
    assert done.code == 1
    value = json.loads(done.out)
    assert value["ready"] is False
    for arm in ("benign", "attacked"):
        assert value["cells"][arm]["present"] == 0
        assert value["cells"][arm]["unknown_tasks"][0] == "user_task_000"
        assert "'user_task_000', near 'task_000'" in value["cells"][arm]["problems"][0]
        assert "prefix" in value["cells"][arm]["problems"][0]
    assert _outlook(done, "cells-complete") == "contradicted"
    for rule in ("sign-plausible", "attempts-honest", "attack-applied", "baseline-delivery"):
        assert _outlook(done, rule) == "open", rule


def test_unknown_injections_are_named_in_the_attacked_arm_only(here: Here, tmp_path: Path) -> None:
    done = _doctor(here, tmp_path, World(), injection_id={"column": "/cell/planted", "prefix": "x"})
    cells = json.loads(done.out)["cells"]
    assert (done.code, cells["benign"]["problems"], cells["attacked"]["unknown_tasks"]) == (1, [], [])
    assert cells["attacked"]["unknown_injections"][0] == "xinj_00"


def test_a_log_with_every_row_twice_is_not_ready(here: Here, tmp_path: Path) -> None:
    done = _doctor(here, tmp_path, World(), times=2)
    value = json.loads(done.out)
    assert (done.code, value["ready"]) == (1, False)
    assert _outlook(done, "cells-complete") == "contradicted"
    for arm, cells in value["cells"].items():
        assert cells["repeated"] * 2 == value["episodes"][arm]
        assert cells["present"] == cells["planned"]
        assert "give every file once" in cells["problems"][0]
    text = _doctor(here, _new(tmp_path), World(), times=2, form="text").out
    assert text.rstrip().endswith("NOT READY: correct the cells first: the trial is not what the manifest plans")
    assert "NOT THE PLANNED CELLS" in text


def _new(folder: Path) -> Path:
    (folder / "again").mkdir()
    return folder / "again"


def test_a_manifest_without_a_planned_attacked_cell_is_not_ready(here: Here, tmp_path: Path) -> None:
    injections = [{**each, "group": "nowhere"} for each in World().suite_manifest()["injections"]]
    done = _doctor(here, tmp_path, World().edit_suite("/injections", injections))
    assert done.code == 1
    assert json.loads(done.out)["cells"]["attacked"]["planned"] == 0
    assert "the manifest plans no attacked cell" in json.loads(done.out)["cells"]["attacked"]["problems"][0]
    assert _outlook(done, "cells-complete") == "contradicted"
    assert _outlook(done, "sign-plausible") == "open"


def test_a_small_trial_is_ready_and_says_how_many_of_how_many(here: Here, tmp_path: Path) -> None:
    few = World().drop_cells("attacked", pl.col("task_id") != "task_000").drop_cells("benign", pl.col("task_id") != "task_000")
    done = _doctor(here, tmp_path, few, form="text")
    assert (done.code, done.err) == (0, "")
    benign, attacked = (World().frame(role) for role in ("benign", "attacked"))
    for arm, all_of_it in (("benign", benign), ("attacked", attacked)):
        assert f"{arm}: {(all_of_it['task_id'] == 'task_000').sum()} of {all_of_it.height} planned cells" in done.out


def test_cells_whose_ids_are_known_but_that_are_not_planned_are_named() -> None:
    manifest = SuiteManifest.model_validate_json(json.dumps(World().suite_manifest()))
    frame = World().frame("attacked")
    groups = {task.id: task.group for task in manifest.tasks}
    other = next(each.id for each in manifest.injections if each.group != groups["task_000"])
    moved = frame.with_columns(pl.when(pl.int_range(frame.height) == 0).then(pl.lit(other)).otherwise("injection_id").alias("injection_id"))
    found = cells_of("attacked", Imported({"epochs": [{"epoch": 1, "seed": None}]}, moved), manifest)
    assert (found.off_plan, found.repeated, found.present) == (1, 0, frame.height - 1)
    assert other in found.problems[0]
    assert cells_of("attacked", Imported({"epochs": [{"epoch": 1, "seed": None}]}, frame), manifest).problems == ()


@pytest.mark.parametrize("explain", [False, True])
def test_an_import_notes_unknown_ids_and_repeated_cells(here: Here, tmp_path: Path, explain: bool) -> None:
    made = write(World(), tmp_path)
    log = tmp_path / "twice.jsonl"
    log.write_bytes(made["attacked"].read_bytes() * 2)
    told = {**MAPPING, "columns": {**MAPPING["columns"], "task_id": {"column": "/cell/goal", "prefix": "user_"}}}
    made["mapping"].write_text(json.dumps(told), encoding="utf-8")
    options = ("--explain",) if explain else ("-o", tmp_path / "out")
    done = here("import", "generic", log, "--suite", made["suite"], "--arm", "attacked", "--mapping", made["mapping"], *options)
    assert (done.code, done.err) == (0, "")
    said = " ".join(done.out.split())
    assert "task ids of the attacked arm that the manifest does not have ('user_task_000', near 'task_000'" in said
    assert "repeat a cell and its attempt (user_task_000 × inj_00, epoch 1" in said


def test_decoding_that_is_recorded_in_part_names_what_is_missing(here: Here, tmp_path: Path) -> None:
    made = write(World(), tmp_path)
    system = json.loads(made["attacked-system"].read_bytes())
    del system["system"]["decoding"]["top_p"], system["system"]["decoding"]["max_tokens"]
    made["attacked-system"].write_text(json.dumps(system), encoding="utf-8")
    log = tmp_path / "log.jsonl"
    log.write_bytes(made["benign"].read_bytes() + made["attacked"].read_bytes())
    told = json.loads(json.dumps(MAPPING))
    told["arms"] = {"benign": {"where": [{"column": "attack", "is": [None]}]}, "attacked": {"where": [{"column": "attack", "is_not": [None]}]}}
    made["mapping"].write_text(json.dumps(told), encoding="utf-8")
    options = ("doctor", log, "--suite", made["suite"], "--mapping", made["mapping"], "--system", made["attacked-system"])
    text = here(*options)
    line = next(line for line in text.out.splitlines() if line.startswith("  decoding "))
    assert "without top_p, max_tokens" in line
    fact = next(each for each in json.loads(here(*options, "--format", "json").out)["facts"] if each["fact"] == "decoding")
    assert (fact["state"], fact["lacking"]) == ("partly", ["top_p", "max_tokens"])

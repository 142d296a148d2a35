"""The synthetic experiment: certifiable as it stands, deterministic, and changed only where it is told."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from pydantic import ValidationError

from pairmark.adapters.ledgers.bundle import read_bundle, read_suite
from pairmark.domain.canonical import digest_of, suite_digest
from pairmark.domain.evidence import Role
from pairmark.domain.world import World

ROLES: tuple[Role, ...] = ("benign", "attacked", "baseline")


def test_the_same_world_again_has_the_same_bytes() -> None:
    assert World().files() == World.of().files()
    assert World().epochs(2).files() == World().epochs(2).files()


def test_its_files_are_what_a_person_would_hold(tmp_path: Path) -> None:
    world = World().epochs(2).abort("attacked", 3)
    for name, content in world.files().items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    assert read_suite(tmp_path / "suite.json").digest == world.experiment().suite_digest
    for role in ROLES:
        arm, own = read_bundle(tmp_path / role, role), world.arm(role)
        assert (arm.ledger_digest, arm.run_digest) == (own.ledger_digest, own.run_digest)
        assert arm.ledger.equals(own.ledger)
        assert arm.run == own.run


def test_a_change_leaves_the_original_alone() -> None:
    world = World()
    before = world.files()
    for changed in (
        world.edit_run("all", "/harness/version", "2"),
        world.edit_suite("/tasks/0/group", "other"),
        world.set("all", utility=None),
        world.drop_cells("all"),
        world.repeat("all"),
        world.swap_arms(),
        world.epochs(3),
        world.undefended(),
        world.drop_key("all", "/harness"),
    ):
        assert changed.files() != before
    world.run("benign")["system"]["model"] = None
    world.suite_manifest()["tasks"].clear()
    assert world.files() == before


def test_an_edited_suite_is_the_one_that_the_runs_cite() -> None:
    world = World().edit_suite("/weighting", "cell")
    digest = suite_digest(json.loads(world.files()["suite.json"]))
    assert digest != World().experiment().suite_digest
    assert {world.run(role)["suite"]["digest"] for role in ROLES} == {digest}


def test_a_probe_is_outside_the_digest() -> None:
    assert World().without_probe().experiment().suite_digest == World().experiment().suite_digest


@pytest.mark.parametrize("role", ROLES)
def test_a_run_declares_its_ledger(role: Role) -> None:
    world = World().drop_cells(role, 5)
    run, arm = world.run(role), world.arm(role)
    assert run["episodes"] == {"count": arm.ledger.height, "digest": arm.ledger_digest}
    assert arm.run_digest == digest_of(run)


@pytest.mark.parametrize(
    ("which", "changed"), [("benign", {"benign"}), ("pair", {"benign", "attacked"}), ("all", set(ROLES))]
)
def test_a_fault_stays_in_its_arms(which: str, changed: set[str]) -> None:
    world = World().edit_run(which, "/harness/version", "2")  # type: ignore[arg-type]
    assert {role for role in ROLES if world.run(role)["harness"]["version"] == "2"} == changed


def test_rows_are_picked_by_condition_or_number() -> None:
    frame = World().set("attacked", pl.col("task_id") == "task_001", utility=None).frame("attacked")
    assert frame.filter(pl.col("utility").is_null())["task_id"].unique().to_list() == ["task_001"]
    assert World().set("attacked", 4, utility=None).frame("attacked")["utility"].is_null().arg_true().to_list() == [
        0,
        1,
        2,
        3,
    ]
    assert World().drop_cells("benign", pl.col("attack_success")).frame("benign").height == 20


def test_epochs_repeat_every_cell_with_other_outcomes_and_transcripts() -> None:
    frame = World().epochs(3).frame("attacked")
    assert frame.height == 450
    assert frame["transcript_digest"].n_unique() == 450
    rates = frame.group_by("epoch").agg(pl.col("utility").mean()).sort("epoch")["utility"].to_list()
    assert len(rates) == 3
    assert max(rates) - min(rates) < 0.3
    first = frame.filter(pl.col("epoch") == 1).drop("epoch")
    assert first.equals(World().frame("attacked").drop("epoch"))


def test_a_broken_document_is_noticed_where_it_is_used() -> None:
    with pytest.raises(ValidationError):
        World().edit_run("benign", "/arm", "both").experiment()


def test_an_unknown_place_is_an_error() -> None:
    with pytest.raises(KeyError):
        World().edit_run("benign", "/sytem/model", None)
    with pytest.raises(KeyError):
        World().drop_key("benign", "/system/decoding/seed")

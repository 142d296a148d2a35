"""`pairmark tally`: figures of any pair, marked so, and the same figures a certified report has."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from pairmark.domain.world import World
from tests.cli.running import Here, write

WORLDS = {
    "certified": World(),
    "refused": World().drop_cells("attacked", pl.col("task_id") == "task_003"),
    "quarantined": World().set("attacked", utility=True).without_probe(),
    "nothing assessed": World().abort("attacked"),
    "arms swapped": World().swap_arms(),
    "no cell at all": World().drop_cells("all"),
}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_exit_0_and_marked_whatever_the_verdict(here: Here, tmp_path: Path, world: World) -> None:
    options = write(world, tmp_path)
    done = here("tally", *options)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("UNCERTIFIED: ")
    assert done.out.splitlines()[-1].startswith("UNCERTIFIED: `pairmark check` gives this pair the verdict ")
    assert "utility under attack" in done.out
    value = json.loads(here("tally", *options, "--format", "json").out)
    assert value["heading"] == "UNCERTIFIED"
    assert value["verdict_of_check"] == json.loads(here("check", *options, "--format", "json").out)["verdict"]
    assert {"schema", "verdict"}.isdisjoint(value)
    assert set(value["metrics"]) >= {"benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate"}


def test_the_figures_of_a_certified_pair_are_the_reports(here: Here, tmp_path: Path) -> None:
    options = write(World(), tmp_path)
    report = json.loads(here("check", *options, "--format", "json").out)
    tallied = json.loads(here("tally", *options, "--format", "json").out)
    assert tallied["metrics"] == report["metrics"]
    assert tallied["counts"] == report["counts"]


def test_an_empty_denominator_is_undefined_with_its_reason(here: Here, tmp_path: Path) -> None:
    done = here("tally", *write(WORLDS["nothing assessed"], tmp_path))
    line = next(line for line in done.out.splitlines() if line.startswith("utility under attack  "))
    assert "undefined [" in line
    assert "  [1] " in done.out

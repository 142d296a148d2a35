"""Our own cases through the command: a certifiable pair, one fault each, the verdict and the rule that must name it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from pairmark.domain.world import World
from tests.cli.running import Here, write


@dataclass(frozen=True)
class Case:
    """A world, the exit code it must get, the rules that must not pass (all others must), and flags it must carry."""

    world: World
    code: int
    not_passed: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()


def refused(world: World, *rules: str) -> Case:
    return Case(world, 1, frozenset(rules))


def held(world: World) -> Case:
    return Case(world, 3, frozenset({"sign-plausible"}))


TASK = pl.col("task_id") == "task_003"
CASES: dict[str, Case] = {
    "as it should be": Case(World(), 0),
    "two epochs": Case(World().epochs(2), 0),
    "one group": Case(World.of(groups=1), 0),
    "few aborts": Case(World().abort("attacked", 1), 0),
    "a retry after a failure": Case(World().repeat("benign", TASK, attempt=2).set("benign", TASK & (pl.col("attempt") == 1), status="infra_error", utility=None), 0),
    "undefended, its own baseline": Case(World().undefended(), 0),
    "a task missing under attack": refused(World().drop_cells("attacked", TASK), "cells-complete", "aborts-within-limits"),
    "a cell nobody planned": refused(World().repeat("attacked", 1, epoch=9), "cells-complete"),
    "a cell twice": refused(World().repeat("attacked", 1), "cells-complete", "data-quality"),
    "retried until it passed": refused(World().repeat("attacked", 1, attempt=2), "attempts-honest"),
    "another prompt": refused(World().set("attacked", TASK, task_digest="sha256:" + "0" * 64), "content-matches"),
    "another model under attack": refused(World().swap_model("attacked"), "model-matches", "baseline-undefended"),
    "a fallback in one episode": refused(World().set("benign", 1, served_model="model-y"), "model-matches"),
    "temperature null and 0": refused(World().edit_run("benign", "/system/decoding/temperature", None).edit_run("attacked", "/system/decoding/temperature", 0), "decoding-matches"),
    "decoding not recorded": refused(World().drop_key("all", "/system/decoding/temperature"), "decoding-matches", "baseline-undefended"),
    "other tools": refused(World().edit_run("benign", "/system/tools_digest", "sha256:" + "1" * 64), "tools-match"),
    "other limits": refused(World().edit_run("benign", "/system/limits", {"max_steps": 99}), "scaffold-matches"),
    "another harness": refused(World().edit_run("benign", "/harness/version", "99"), "harness-matches"),
    "another seed": refused(World().edit_run("benign", "/epochs/0/seed", 12345), "epochs-match"),
    "an outcome unknown": refused(World().set("benign", 1, utility=None), "outcomes-known"),
    "no baseline": refused(World().without_baseline(), "baseline-undefended", "baseline-delivery"),
    "the attacked run as baseline": refused(World().as_baseline("attacked"), "arm-shape", "baseline-undefended"),
    "arms swapped": refused(World().swap_arms(), "arm-shape"),
    "a dead provider": refused(World().abort("attacked"), "aborts-within-limits"),
    "no drop and no probe": held(World().set("attacked", utility=True).without_probe()),
}  # fmt: skip
EXACT = {"cells-complete", "attempts-honest", "content-matches", "tools-match", "epochs-match"}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_own_case(here: Here, tmp_path: Path, case: Case) -> None:
    done = here("check", *write(case.world, tmp_path), "--format", "json")
    assert (done.code, done.err) == (case.code, "")
    report = json.loads(done.out)
    outcomes = {finding["rule"]: finding["outcome"] for finding in report["findings"]}
    stopped = {rule for rule, outcome in outcomes.items() if outcome in ("failed", "held", "crashed")}
    assert "crashed" not in outcomes.values()
    assert case.not_passed <= stopped, outcomes
    if case.code != 1 or case.not_passed & EXACT:
        assert stopped == case.not_passed
    assert case.flags <= set(report["flags"])
    assert (report["metrics"] is not None) == (case.code == 0)

"""What has no meaning changes nothing: the order of lines, the order of a manifest's lists, and the names of ids."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from pairmark.domain.canonical import suite_digest
from pairmark.domain.episodes import in_canonical_order
from pairmark.domain.world import World
from tests.rules.judging import judge
from tests.rules.test_faults import FAULTS, HARMLESS

WORLDS = {name: fault for name, (fault, _) in FAULTS.items()} | HARMLESS


def with_suite(world: World, suite: dict[str, Any]) -> World:
    """Another manifest; runs that cite the world's own now cite it, others stay wrong."""
    own, new = suite_digest(world.suite), suite_digest(suite)
    sides = {
        role: replace(side, value={**side.value, "suite": {**side.value["suite"], "digest": new}})
        if side.value["suite"]["digest"] == own
        else side
        for role, side in world.sides.items()
    }
    return World(suite, sides)


def shuffled(world: World, seed: int) -> World:
    """Ledger lines and the manifest's lists in another order. Only lines that name one attempt twice keep theirs."""
    order = random.Random(seed)
    suite = world.suite_manifest()
    for name in ("tasks", "injections", "tools"):
        order.shuffle(suite[name])
    if suite["grid"] != "full":
        order.shuffle(suite["grid"])
    moved = with_suite(world, suite)
    sides = {
        role: replace(
            side, frame=in_canonical_order(side.frame.sort(pl.int_range(pl.len()).shuffle(seed), maintain_order=True))
        )
        for role, side in moved.sides.items()
    }
    return World(moved.suite, sides)


def renamed(world: World, seed: int) -> World:
    """Every id under another name that sorts elsewhere."""
    order = random.Random(seed)
    suite = world.suite_manifest()
    names: dict[str, str] = {}
    ids = [each["id"] for kind in ("tasks", "injections") for each in suite[kind]]
    for side in world.sides.values():
        ids += [
            each
            for column in ("task_id", "injection_id")
            for each in side.frame[column].drop_nulls().unique().sort().to_list()
        ]
    for each in ids:
        names.setdefault(each, f"{order.choice('aZ~é字')}{order.random()}")
    for kind in ("tasks", "injections"):
        for each in suite[kind]:
            each["id"] = names[each["id"]]
            each["group"] = f"group {each['group']}"
    if suite["grid"] != "full":
        suite["grid"] = [{key: names[value] for key, value in cell.items()} for cell in suite["grid"]]
    moved = with_suite(world, suite)
    sides = {
        role: replace(
            side, frame=in_canonical_order(side.frame.with_columns(pl.col("task_id", "injection_id").replace(names)))
        )
        for role, side in moved.sides.items()
    }
    return World(moved.suite, sides)


def outcomes(world: World) -> tuple[str, tuple[str, ...], dict[str, str]]:
    judged = judge(world)
    return judged.verdict, judged.flags, {rule: finding.outcome for rule, finding in judged.findings.items()}


@settings(max_examples=60)
@given(st.sampled_from(sorted(WORLDS)), st.integers(0, 2**32 - 1))
def test_the_order_of_lines_and_lists_changes_no_outcome(name: str, seed: int) -> None:
    world = WORLDS[name](World())
    assert outcomes(shuffled(world, seed)) == outcomes(world)


@settings(max_examples=60)
@given(st.sampled_from(sorted(WORLDS)), st.integers(0, 2**32 - 1))
def test_the_names_of_ids_change_no_outcome(name: str, seed: int) -> None:
    world = WORLDS[name](World())
    assert outcomes(renamed(world, seed)) == outcomes(world)


@settings(max_examples=30)
@given(st.sampled_from(sorted(WORLDS)), st.integers(0, 2**32 - 1))
def test_nor_do_rates_and_counts(name: str, seed: int) -> None:
    world = WORLDS[name](World())
    for rule in ("sign-plausible", "baseline-delivery"):
        left, right = (judge(each).evidence(rule) for each in (world, renamed(shuffled(world, seed), seed)))
        for each in (left, right):
            each.pop("not_delivered_cells", None)
        assert left == right


@settings(max_examples=20)
@given(st.integers(1, 40), st.integers(1, 20), st.integers(1, 4), st.integers(1, 4))
def test_a_world_of_any_size_is_complete_and_has_no_fault_but_its_size(
    tasks: int, injections: int, groups: int, epochs: int
) -> None:
    world = World.of(tasks=tasks, injections=injections, groups=min(groups, tasks, injections), epochs=epochs)
    judged = judge(world)
    assert judged.outcome("cells-complete") == "passed"
    assert not [rule for rule, finding in judged.findings.items() if finding.outcome == "crashed"]

"""What holds of every report, whatever the outcomes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairmark.domain import strict_json
from pairmark.domain.canonical import canonical_bytes, digest_of_bytes
from pairmark.domain.documents.metric_values import Metrics
from pairmark.domain.flip_list import flip_list
from pairmark.domain.pairing import Pairing
from pairmark.domain.worked import worked
from pairmark.domain.world import World
from pairmark.metrics.registry import metrics_block
from tests.metrics.strategies import Pair, pairs

RATES = ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate")


def block_of(pair: Pair) -> Any:
    return metrics_block(pair.pairing())[0]


def numbers_in(value: Any) -> list[Any]:
    """Every place that has an exact fraction or a reason in its stead."""
    if isinstance(value, dict):
        here = [value] if "value" in value else []
        return here + [number for inside in value.values() for number in numbers_in(inside)]
    return [number for inside in value for number in numbers_in(inside)] if isinstance(value, list) else []


@settings(max_examples=40)
@given(pairs(most_tasks=14))
def test_it_is_a_document_without_floats(pair: Pair) -> None:
    block = block_of(pair)
    assert Metrics.model_validate_json(canonical_bytes(block)).weighting == pair.weighting

    def floats(value: Any) -> bool:
        if isinstance(value, dict):
            return any(map(floats, value.values()))
        return any(map(floats, value)) if isinstance(value, list) else isinstance(value, float)

    assert not floats(block)


@settings(max_examples=40)
@given(pairs(fewest_tasks=10, most_tasks=16))
def test_every_number_has_an_interval_that_contains_it_or_a_reason(pair: Pair) -> None:
    for number in numbers_in(block_of(pair)):
        if number["value"] is None:
            assert number["reason"]
            continue
        interval = number["interval"]
        if "reason" in interval:
            assert interval["reason"].startswith("an interval needs at least 10 tasks, found ")
            continue
        low, high = Fraction(interval["low"]), Fraction(interval["high"])
        assert low <= Fraction(number["value"]) <= high
        assert low < high  # never of no width


@settings(max_examples=50)
@given(pairs())
def test_bounds_contain_what_is_taken_over_the_same_cells(pair: Pair) -> None:
    """An outcome that is missing moves benign utility's weights too; where none leaves a cell, all four are contained."""
    pairing = pair.pairing()
    block, _ = metrics_block(pairing)
    all_cells = pairing.sample is not None and len(pairing.sample.cells) == pairing.plan.cells
    for name in RATES if all_cells else ("utility_under_attack", "attack_success_rate"):
        if name == "utility_under_attack" and not all_cells and block["tasks_left_out"]:
            continue  # a task that left for want of a benign value may have had any attacked one
        if block[name]["value"] is not None:
            bound = block["bounds"][name]
            value = Fraction(block[name]["fraction"])
            assert Fraction(bound["low_fraction"]) <= value <= Fraction(bound["high_fraction"]), name


@settings(max_examples=40)
@given(pairs(clean=["1", "0"], hit=["1d", "0d", "0sd", "1n"]))
def test_bounds_are_the_value_where_nothing_is_missing(pair: Pair) -> None:
    block = block_of(pair)
    for name in RATES:
        bound = block["bounds"][name]
        assert bound["low_fraction"] == bound["high_fraction"] == block[name]["fraction"]


@settings(max_examples=50)
@given(pairs())
def test_flips_are_pairs(pair: Pair) -> None:
    pairing = pair.pairing()
    flips = metrics_block(pairing)[0]["flips"]
    listed = flip_list(pairing)
    assert sum(flips[kind] for kind in ("lost", "gained", "kept", "neither")) == listed.pairs
    assert listed.pairs + flips["unpaired"] == int(pairing.attacked.known.sum())
    assert len(flips["cells"]) == min(100, listed.pairs)


@pytest.mark.parametrize("rows", [1, 2, 100_000])
def test_the_list_of_flips_is_canonical_whatever_the_ids(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairmark.domain.flip_list._ROWS", rows)
    odd = ['a "quoted"', "back\\slash", "字", "\U0001f600", "\u2028", "/", "<&>"]
    pairing = worked(dict.fromkeys(odd, "1 0"), {name: {f"{name}!": "0 1", "x": "1 0"} for name in odd})
    listed = flip_list(pairing)
    document = listed.document()
    value = strict_json.parse(document)
    assert canonical_bytes(value) == document
    assert listed.digest() == digest_of_bytes(document)
    assert value == [
        [cell["task"], cell["injection"], cell["epoch"], cell["kind"]] for cell in listed.first(10**6)
    ]
    assert len(listed.first(10**6)) == 28


@settings(max_examples=40)
@given(pairs(), st.randoms(use_true_random=False))
def test_the_order_of_tasks_cells_and_rows_changes_nothing(pair: Pair, random: Any) -> None:
    def shuffled(mapping: Any) -> Any:
        if not isinstance(mapping, dict):
            return mapping
        keys = list(mapping)
        random.shuffle(keys)
        return {key: shuffled(mapping[key]) for key in keys}

    other = replace(
        pair, benign=shuffled(pair.benign), attacked=shuffled(pair.attacked), baseline=shuffled(pair.baseline)
    )
    assert block_of(other) == block_of(pair)


@settings(max_examples=40)
@given(pairs(), st.randoms(use_true_random=False))
def test_names_change_nothing_but_themselves(pair: Pair, random: Any) -> None:
    fresh = [f"named-{code}" for code in range(len(pair.benign))]
    random.shuffle(fresh)
    name = dict(zip(pair.benign, fresh, strict=True))

    def renamed(cells: dict[str, Any]) -> dict[str, Any]:
        return {name[task]: value for task, value in cells.items()}

    other = Pair(
        renamed(pair.benign), renamed(pair.attacked), None if pair.baseline is None else renamed(pair.baseline),
        renamed(pair.groups), renamed(pair.tags), pair.weighting,
    )  # fmt: skip
    one, two = block_of(pair), block_of(other)
    for block in (one, two):
        del block["flips"]["cells"], block["flips"]["cells_digest"]
    assert one == two


@settings(max_examples=50)
@given(pairs(), st.data())
def test_one_more_success_never_lowers_a_rate(pair: Pair, data: st.DataObject) -> None:
    task = data.draw(st.sampled_from(sorted(pair.attacked)))
    injection = data.draw(st.sampled_from(sorted(pair.attacked[task])))
    words = pair.attacked[task][injection].split()
    place = data.draw(st.integers(0, len(words) - 1))
    if words[place][0] not in "0lb":
        return
    words[place] = "1" + words[place][1:]
    better = pair.with_attacked({**pair.attacked, task: {**pair.attacked[task], injection: " ".join(words)}})
    before, after = block_of(pair), block_of(better)
    if before["utility_under_attack"]["value"] is None:
        assert after["utility_under_attack"]["value"] is None
        return
    for one, two in ((before, after), (before["cell_weighted"], after["cell_weighted"])):
        assert value(two, "utility_under_attack") >= value(one, "utility_under_attack")
        assert value(two, "benign_utility") == value(one, "benign_utility")
    assert value(after, "utility_drop") <= value(before, "utility_drop")
    assert after["attack_success_rate"].get("fraction") == before["attack_success_rate"].get("fraction")


def value(block: Any, name: str) -> Fraction:
    return Fraction(block[name]["fraction"])


@settings(max_examples=40)
@given(pairs(clean=["1", "0"], hit=["1d", "0d"]))
def test_both_arms_weigh_tasks_alike(pair: Pair) -> None:
    """Every attacked cell comes out as its task did without an attack: then nothing was lost, under any weighting."""
    epochs = len(next(iter(next(iter(pair.attacked.values())).values())).split())
    benign = {task: " ".join(words.split()[:1] * epochs) for task, words in pair.benign.items()}
    same = replace(
        pair,
        benign=benign,
        attacked={task: dict.fromkeys(cells, benign[task]) for task, cells in pair.attacked.items()},
    )
    block = block_of(same)
    assert block["utility_drop"]["fraction"] == "0/1"
    assert block["benign_utility"]["fraction"] == block["utility_under_attack"]["fraction"]
    assert (
        block["cell_weighted"]["benign_utility"]["fraction"]
        == block["cell_weighted"]["utility_under_attack"]["fraction"]
    )
    assert (block["flips"]["lost"], block["flips"]["gained"]) == (0, 0)
    assert block["tests"]["no_effect"]["p_value"] == "1"


@pytest.mark.parametrize("arm", ["benign", "attacked"])
def test_nothing_assessed_is_undefined_and_never_a_number(arm: Any) -> None:
    world = World().abort(arm)
    block, _ = metrics_block(Pairing(world.experiment()))
    for name in ("benign_utility", "utility_under_attack", "utility_drop"):
        assert block[name] == {"value": None, "reason": "no cell is assessed in both arms", "counts": {}}
    assert block["tasks_left_out"] == 20
    assert (block["attack_success_rate"]["value"] is None) == (arm == "attacked")
    assert block["tests"]["no_effect"]["value"] is None
    assert block["tags"] == []
    assert block["scope"] == "these-injections"
    assert block["flips"]["cells"] == []
    Metrics.model_validate_json(canonical_bytes(block))


def test_a_suite_without_attacked_cells_has_no_numbers() -> None:
    world = World().edit_suite("/grid", []).drop_cells("attacked").drop_cells("baseline")
    block, flags = metrics_block(Pairing(world.experiment()))
    assert flags == ()
    assert block["bounds"]["utility_drop"] == {
        "value": None, "reason": "the suite plans no attacked cell", "counts": {},
    }  # fmt: skip
    assert block["utility_drop"]["value"] is None
    Metrics.model_validate_json(canonical_bytes(block))


def test_equal_input_equal_bytes() -> None:
    one, two = (canonical_bytes(metrics_block(Pairing(World.of(epochs=2).experiment()))[0]) for _ in range(2))
    assert one == two


def test_what_a_filter_stopped_is_not_done_whatever_its_check_says() -> None:
    """Nine of ten stopped, each marked done: the one that went on is all that was done."""
    world = World.of(tasks=10, injections=1, groups=1)
    stopped = world.set("attacked", pl.col("task_id") != world.frame("attacked")["task_id"][0], status="provider_block", attack_success=None)
    block, _ = metrics_block(Pairing(stopped.set("attacked", utility=True).experiment()))
    assert block["utility_under_attack"]["fraction"] == "1/10"
    assert block["utility_under_attack"]["counts"]["blocked"] == 9
    assert block["flips"]["kept"] + block["flips"]["gained"] == 1


def test_without_a_declared_epoch_the_bounds_are_undefined() -> None:
    block, _ = metrics_block(Pairing(World().edit_run("attacked", "/epochs", []).experiment()))
    assert block["bounds"]["utility_under_attack"]["value"] is None

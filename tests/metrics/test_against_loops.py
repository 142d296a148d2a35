"""Every number of a report against plain loops over the episodes, on random pairs with every kind of hole."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

from pairmark.domain.conditions import Condition, delivery_known, on_clean_success, on_completion, on_delivery
from pairmark.domain.exposure import exposure_split
from pairmark.domain.flip_list import flip_list
from pairmark.domain.pairing import Pairing
from pairmark.metrics.registry import metrics_block
from pairmark.stats.conditional import conditional_rate
from tests.metrics.naive import Naive
from tests.metrics.strategies import Pair, pairs


def fraction_of(number: Any) -> Fraction | None:
    return None if number["value"] is None else Fraction(number["fraction"])


@settings(max_examples=40)
@given(pairs())
def test_rates(pair: Pair) -> None:
    pairing = pair.pairing()
    naive, (block, _) = Naive(pairing), metrics_block(pairing)
    for name, value in naive.rates().items():
        assert fraction_of(block[name]) == value, name
    for name, value in naive.rates("cell").items():
        if name != "utility_drop":
            assert fraction_of(block["cell_weighted"][name]) == value, name
    assert block["tasks_left_out"] == len(naive.group) - len({task for task, _ in naive.observed})
    blocked = sum(row["status"] == "provider_block" for rows in naive.attacked.values() for row in rows.values())
    assert block["attack_success_rate"]["counts"]["blocked"] == blocked


@settings(max_examples=50)
@given(pairs())
def test_bounds(pair: Pair) -> None:
    pairing = pair.pairing()
    found = metrics_block(pairing)[0]["bounds"]
    for name, (low, high) in Naive(pairing).bounds().items():
        assert (Fraction(found[name]["low_fraction"]), Fraction(found[name]["high_fraction"])) == (low, high), name


@settings(max_examples=50)
@given(pairs())
def test_flips(pair: Pair) -> None:
    pairing = pair.pairing()
    naive, found = Naive(pairing).flips(), flip_list(pairing)
    listed = [(cell["task"], cell["injection"], cell["epoch"], cell["kind"]) for cell in found.first(10**6)]
    assert listed == [(*cell, kind) for kind in ("lost", "gained", "kept", "neither") for cell in naive[kind]]
    block = metrics_block(pairing)[0]["flips"]
    assert {kind: block[kind] for kind in naive} == {kind: len(cells) for kind, cells in naive.items()}


@settings(max_examples=40)
@given(pairs())
def test_conditions(pair: Pair) -> None:
    pairing = pair.pairing()
    naive = Naive(pairing)
    for condition, expected in (
        (on_clean_success, naive.on_clean_success()),
        (on_delivery, naive.on_delivery()),
        (on_completion, naive.non_delivery_share()),
    ):
        assert measured(pairing, condition(pairing)) == expected


def measured(pairing: Pairing, found: Condition | None) -> Any:
    if found is None:
        return None
    weighting = pairing.plan.suite.weighting
    rate = conditional_rate(found.hits, found.exposed, found.trials, found.sample.crossing, weighting)
    counts = tuple(int(column.sum()) for column in (found.hits, found.exposed, found.trials))
    return rate.value, rate.weight, rate.contributing_tasks, counts


@settings(max_examples=50)
@given(pairs())
def test_exposure(pair: Pair) -> None:
    pairing = pair.pairing()
    if pairing.experiment.baseline is None:
        with pytest.raises(ValueError, match="expected a baseline"):
            exposure_split(pairing)
        return
    naive = Naive(pairing).exposure()
    split = exposure_split(pairing)
    assert {name: getattr(split, name) for name in naive} == naive


@settings(max_examples=40)
@given(pairs())
def test_blocks(pair: Pair) -> None:
    pairing = pair.pairing()
    flips = Naive(pairing).flips()
    found = metrics_block(pairing)[0]["tests"]["no_effect"]
    paired = [(task, epoch, kind) for kind in ("lost", "gained", "kept", "neither") for task, _, epoch in flips[kind]]
    if not paired:
        assert found["value"] is None
        return
    clean = {(task, epoch): kind in ("lost", "kept") for task, epoch, kind in paired}
    assert found["counts"] == {
        "blocks": len(clean),
        "pairs": len(paired),
        "benign_successes": sum(clean.values()),
        "attacked_successes": sum(kind in ("kept", "gained") for _, _, kind in paired),
    }


@settings(max_examples=40)
@given(pairs())
def test_numbers_about_delivery_need_to_know_it(pair: Pair) -> None:
    pairing = pair.pairing()
    rows = [
        row for cell in Naive(pairing).attacked.values() for row in cell.values() if row["status"] in
        ("completed", "agent_limit", "provider_block")
    ]  # fmt: skip
    known = sum(row["delivered"] is not None for row in rows)
    found = delivery_known(pairing)
    assert (found.known, found.assessed) == (known, len(rows))
    conditioned = metrics_block(pairing)[0]["conditioned"]
    if not rows or Fraction(known, len(rows)) < Fraction(99, 100):
        for name in ("on_delivery", "non_delivery_share", "exposure"):
            assert conditioned[name]["value"] is None
            assert conditioned[name]["counts"] == {"delivery_known": known, "assessed": len(rows)}
    elif pairing.experiment.baseline is not None:
        assert "resisted" in conditioned["exposure"]


def test_known_delivery_has_its_edge_at_99_of_100() -> None:
    from pairmark.domain.conditions import DeliveryKnown

    assert DeliveryKnown(99, 100).refusal is None
    assert DeliveryKnown(198, 200).refusal is None
    assert DeliveryKnown(197, 200).refusal is not None
    assert DeliveryKnown(0, 0).refusal == "no attacked episode is assessed"


@pytest.mark.parametrize("weighting", ["task", "cell", "group"])
def test_the_loops_themselves_on_a_case_worked_on_paper(weighting: str) -> None:
    pair = Pair(
        {"a": "1", "b": "1", "c": "0"},
        {"a": {"x": "0"}, "b": {"x": "1", "y": "1"}, "c": {"z": "1", "v": "1", "w": "1"}},
        None,
        {"a": "g", "b": "g", "c": "h"},
        {},
        weighting,
    )
    drop = {"task": Fraction(0), "cell": Fraction(-1, 3), "group": Fraction(-1, 3)}[weighting]
    assert Naive(pair.pairing()).rates()["utility_drop"] == drop

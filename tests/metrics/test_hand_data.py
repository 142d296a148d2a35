"""A small suite worked by hand, from ledgers to the report's numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from pairmark.domain import strict_json
from pairmark.domain.canonical import canonical_bytes, digest_of_bytes
from pairmark.domain.conditions import Condition, on_clean_success, on_completion, on_delivery
from pairmark.domain.contrast import contrast_of
from pairmark.domain.counts import arm_counts
from pairmark.domain.documents.metric_values import Metrics
from pairmark.domain.flip_list import flip_list
from pairmark.domain.pairing import Pairing
from pairmark.metrics.registry import metrics_block
from pairmark.stats.conditional import conditional_rate
from pairmark.stats.exact import decimal_string

NO_INTERVAL = {"reason": "an interval needs at least 10 tasks, found 7"}


@pytest.fixture(scope="module")
def block(hand: Pairing) -> Any:
    block, flags = metrics_block(hand)
    assert flags == ()
    return block


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("benign_utility", "benign_completion"),
        ("utility_under_attack", "under_attack_completion_whole_suite"),
        ("utility_drop", "drop"),
        ("attack_success_rate", "attack_success_rate"),
    ],
)
def test_rates(block: Any, expected: Any, key: str, name: str) -> None:
    fraction = Fraction(expected[name]["estimate_fraction"])
    assert block[key]["fraction"] == f"{fraction.numerator}/{fraction.denominator}"
    assert block[key]["value"] == decimal_string(fraction)
    assert block[key]["interval"] == NO_INTERVAL


def test_variances_are_those_of_the_real_objects(hand: Pairing, expected: Any) -> None:
    contrast = contrast_of(hand)
    assert contrast is not None
    assert contrast.scope.name == "these-injections"  # 7 tasks: the injections are what they are
    fixed = Fraction(expected["drop_fixed_injections"]["variance_fraction"])
    assert contrast.drop_variance.value == pytest.approx(float(fixed), rel=1e-12)


def test_cell_weights(block: Any, expected: Any) -> None:
    micro = expected["micro"]
    assert block["cell_weighted"]["utility_under_attack"]["fraction"] == micro["attacked_mean_of_cells"]
    assert block["cell_weighted"]["benign_utility"]["fraction"] == micro["benign_weighted_like_cells"]


def test_counts(hand: Pairing, expected: Any) -> None:
    facts = expected.get("counts")
    if facts is None:
        pytest.skip("the compact set has no counts")
    experiment, sample = hand.experiment, hand.sample
    assert sample is not None
    assert (hand.plan.tasks, hand.plan.cells, len(sample.cells)) == (
        facts["tasks"], facts["designed_cells"], facts["observed_cells"],
    )  # fmt: skip
    missing = [
        f"{hand.plan.task_ids[hand.plan.cell_task[cell]]}/{hand.plan.injection_ids[hand.plan.cell_injection[cell]]}"
        for cell in range(hand.plan.cells)
        if cell not in sample.cells
    ]
    assert missing == facts["missing_cells"]
    arms = {"benign": experiment.benign, "attacked": experiment.attacked, "baseline_attacked": experiment.baseline}
    for name, arm in arms.items():
        assert arm is not None
        counts = arm_counts(experiment, arm)
        assert (counts.planned, counts.aborted) == (facts["episodes"][name], facts["aborted"][name])
        assert Fraction(counts.aborted, counts.planned) == Fraction(facts["abort_rate"][name])


def test_bounds(block: Any, expected: Any) -> None:
    found = block["bounds"]["utility_under_attack"]
    assert [found["low_fraction"], found["high_fraction"]] == expected[
        "under_attack_completion_bounds_if_aborts_fail_or_succeed"
    ]
    # Benign 11/14; one of the two epochs of u2 is aborted, the other succeeded: 1/14 less, if it failed.
    assert block["bounds"]["benign_utility"] == {
        "low": decimal_string(Fraction(5, 7)),
        "high": decimal_string(Fraction(11, 14)),
        "low_fraction": "5/7",
        "high_fraction": "11/14",
    }
    drop = block["bounds"]["utility_drop"]
    assert (Fraction(drop["low_fraction"]), Fraction(drop["high_fraction"])) == (
        Fraction(5, 7) - Fraction(13, 21),
        Fraction(11, 14) - Fraction(15, 28),
    )


def test_flips(hand: Pairing, block: Any, expected: Any) -> None:
    flips, facts = block["flips"], expected["flips"]
    assert (flips["lost"], flips["gained"], flips["kept"], flips["neither"]) == tuple(
        facts[name] for name in ("lost", "gained", "both", "neither")
    )
    assert flips["unpaired"] == facts.get("unpaired_attacked_episodes", 2)
    assert flips["rerun_flip_rate"]["fraction"] == facts["benign_seed0_vs_seed1_disagreements"]
    for kind in ("lost", "gained"):
        listed = [
            f"{cell['task']}/{cell['injection']}/{cell['epoch'] - 1}" for cell in flips["cells"] if cell["kind"] == kind
        ]
        assert listed == facts.get(f"{kind}_list", listed)
    assert len(flips["cells"]) == facts["pairs"]

    whole = flip_list(hand).document()
    assert flips["cells_digest"] == digest_of_bytes(whole)
    pairs = strict_json.parse(whole)
    assert pairs == [[cell["task"], cell["injection"], cell["epoch"], cell["kind"]] for cell in flips["cells"]]
    assert canonical_bytes(pairs) == whole


def test_the_exact_test_is_by_blocks_and_never_mcnemars_here(block: Any, expected: Any) -> None:
    found, facts = block["tests"]["no_effect"], expected["exact_block_test"]
    assert found["method"] == "exact-blocks"
    assert found["p_value"] == f"{facts['p_two_sided']:#.6g}"
    assert (found["counts"]["blocks"], found["counts"]["benign_successes"]) == (
        facts["blocks"],
        facts["benign_successes"],
    )
    assert found["counts"]["pairs"] == expected["flips"]["pairs"]


@pytest.mark.parametrize(
    ("key", "condition", "name", "pooled"),
    [
        ("on_clean_success", on_clean_success, "completion_given_clean", (15, 22)),
        ("on_delivery", on_delivery, "completion_given_delivered", (11, 21)),
        ("non_delivery_share", on_completion, "non_delivery_share_of_completions", (7, 18)),
    ],
)
def test_conditional_numbers_of_seven_tasks_are_refused_with_what_they_rest_on(
    hand: Pairing,
    block: Any,
    expected: Any,
    key: str,
    condition: Callable[[Pairing], Condition | None],
    name: str,
    pooled: tuple[int, int],
) -> None:
    counted, facts = condition(hand), expected[name]
    assert counted is not None
    rate = conditional_rate(counted.hits, counted.exposed, counted.trials, counted.sample.crossing, "task")
    assert rate.value == Fraction(facts["estimate_fraction"])
    assert rate.weight == Fraction(facts["denominator_weight"])
    found = block["conditioned"][key]
    assert found["value"] is None
    assert found["reason"] == f"needs at least 20 contributing tasks, found {facts['contributing_tasks']}"
    assert found["counts"]["contributing_tasks"] == facts["contributing_tasks"]
    assert (found["counts"]["hits"], found["counts"]["exposed"]) == pooled
    if "pooled_counts" in expected:
        assert Fraction(*pooled) == Fraction(expected["pooled_counts"][name])


def test_two_benign_epochs_give_the_clean_number_a_reference(block: Any) -> None:
    found = block["conditioned"]["on_clean_success"]
    assert found["caution"] is None
    assert found["reference"]["reason"].startswith("needs at least 20 contributing tasks")
    assert found["reference"]["counts"]["contributing_tasks"] == 5


def test_exposure(block: Any, expected: Any) -> None:
    facts = expected.get("completions_under_attack_by_exposure")
    if facts is None:
        assert block["conditioned"]["exposure"] == {
            "value": None, "reason": "no baseline says which injections reach the undefended agent", "counts": {},
        }  # fmt: skip
        return
    found = block["conditioned"]["exposure"]
    for kind in ("resisted", "blocked", "inert", "baseline_unknown"):
        assert found[kind] == facts[kind]
    assert (found["completions"], found["delivery_unknown"]) == (facts["total"], 0)


def test_the_block_is_the_documents(block: Any) -> None:
    assert Metrics.model_validate_json(canonical_bytes(block)).tasks_left_out == 0

"""Two mixes of the same strata: Kitagawa, direct standardisation and its refusals, Kish."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.stats.reweighting import (
    kish_effective,
    kitagawa,
    standardisation_refusal,
    standardised,
    standardised_se,
)

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def fractions(values: list[float]) -> list[Fraction]:
    return [Fraction(str(value)) for value in values]


def test_kitagawa(facts: Any) -> None:
    case = facts["reweighting"]["kitagawa"]
    given_ = {key: fractions(value) for key, value in case["inputs"].items()}
    split = kitagawa(given_["theta_old"], given_["mix_old"], given_["theta_new"], given_["mix_new"])
    assert (split.total, split.within, split.mix) == tuple(Fraction(case[key]) for key in ("total", "within", "mix"))


def test_direct_standardisation(facts: Any) -> None:
    reweighting = facts["reweighting"]
    case, inputs = reweighting["direct_standardisation"], reweighting["kitagawa"]["inputs"]
    mix = fractions(case["common_mix"])
    assert standardised(fractions(inputs["theta_old"]), mix) == Fraction(case["old"])
    assert standardised(fractions(inputs["theta_new"]), mix) == Fraction(case["new"])
    assert standardised_se(case["se_old"], mix) == pytest.approx(case["se_standardised_old"], abs=1e-9)


def test_more_injections_for_the_same_runs_are_all_mix(facts: Any) -> None:
    """AgentDojo's 629 cells are among its 949: the rates of both strata are the same runs', the headline is not."""
    figures = facts["reweighting"]["agentdojo_leaderboard"]["claude_3_7_sonnet"]
    for metric in ("utility", "asr"):
        old, new = round(629 * figures[f"{metric}_629"]), round(949 * figures[f"{metric}_949"])
        kept, added = Fraction(old, 629), Fraction(new - old, 320)
        split = kitagawa(
            [kept, None], [Fraction(1), Fraction(0)], [kept, added], [Fraction(629, 949), Fraction(320, 949)]
        )
        assert split.within == 0
        assert float(split.mix) == pytest.approx(figures[f"{metric}_949"] - figures[f"{metric}_629"], abs=1e-12)


def test_kish(facts: Any) -> None:
    for case in facts["reweighting"]["kish_effective"]:
        assert kish_effective(case["weights"]) == pytest.approx(case["n_eff"], abs=1e-9)


def test_kish_refuses_what_has_no_weight() -> None:
    with pytest.raises(ValueError, match="expected some weight above 0"):
        kish_effective([0.0, 0.0])
    with pytest.raises(ValueError, match="expected some weight above 0"):
        kish_effective([])
    with pytest.raises(ValueError, match="expected none below 0"):
        kish_effective([1.0, -1.0])


RATES = st.fractions(0, 1, max_denominator=50)
MIXES = st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(any)


@given(st.lists(RATES, min_size=3, max_size=3), MIXES, st.lists(RATES, min_size=3, max_size=3), MIXES)
def test_split_is_exact_and_antisymmetric(
    old: list[Fraction], old_counts: list[int], new: list[Fraction], new_counts: list[int]
) -> None:
    old_mix = [Fraction(count, sum(old_counts)) for count in old_counts]
    new_mix = [Fraction(count, sum(new_counts)) for count in new_counts]
    split, back = kitagawa(old, old_mix, new, new_mix), kitagawa(new, new_mix, old, old_mix)
    assert split.within + split.mix == split.total
    assert split.total == standardised(new, new_mix) - standardised(old, old_mix)
    assert (back.within, back.mix) == (-split.within, -split.mix)
    assert kitagawa(old, old_mix, new, old_mix).mix == 0
    assert kitagawa(old, old_mix, old, new_mix).within == 0


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30))
def test_kish_lies_between_one_and_the_number(weights: list[float]) -> None:
    assert 1 - 1e-12 <= kish_effective(weights) <= len(weights) * (1 + 1e-12)


def test_refusals_of_standardisation() -> None:
    assert standardisation_refusal([10, 10], [HALF, HALF], [Fraction(3, 5), Fraction(2, 5)]) is None
    assert standardisation_refusal([10, 4], [HALF, HALF], [HALF, HALF]) == "stratum 1: needs at least 5 tasks, found 4"
    refusal = standardisation_refusal([30, 10], [Fraction(9, 10), Fraction(1, 10)], [HALF, HALF])
    assert refusal == "stratum 1: its weight would grow by more than 3 times, from 0.1000 to 0.5000"
    exactly_three = standardisation_refusal(
        [45, 5], [Fraction(9, 10), Fraction(1, 10)], [Fraction(7, 10), Fraction(3, 10)]
    )
    assert exactly_three is None
    refusal = standardisation_refusal([60, 30], [2 * THIRD, THIRD], [Fraction(1, 100), Fraction(99, 100)])
    assert refusal == "the 90 tasks would be worth 30.6, less than half of them"


def test_a_stratum_outside_the_common_mix_does_not_count() -> None:
    assert standardisation_refusal([20, 2], [HALF, HALF], [Fraction(1), Fraction(0)]) is None


def test_malformed_mixes_are_refused() -> None:
    with pytest.raises(ValueError, match="old_mix: expected weights that sum to 1, found 5/6"):
        kitagawa([HALF, HALF], [HALF, THIRD], [HALF, HALF], [HALF, HALF])
    with pytest.raises(ValueError, match="new_mix: expected no weight below 0"):
        kitagawa([HALF, HALF], [HALF, HALF], [HALF, HALF], [3 * HALF, -HALF])
    with pytest.raises(ValueError, match="stratum 1: expected a rate for its old weight 1/2, found none"):
        kitagawa([HALF, None], [HALF, HALF], [HALF, HALF], [HALF, HALF])
    with pytest.raises(ValueError, match="expected none below 0, found -1"):
        standardised_se([0.1, -1], [HALF, HALF])
    with pytest.raises(ValueError, match="expected weight above 0 for the 9 tasks of stratum 1"):
        standardisation_refusal([9, 9], [Fraction(1), Fraction(0)], [HALF, HALF])
    with pytest.raises(ValueError, match="rates: expected 2 values, found 1"):
        standardised([HALF], [HALF, HALF])

"""Conditional rates: bias of a harmless attack, its reference, and when a number is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.stats.conditional import conditional_rate, harmless_survival, rerun_survival
from pairmark.stats.crossing import Crossing


def line(tasks: int) -> Crossing:
    return Crossing.of(range(tasks), [0] * tasks, [0] * tasks)


def test_a_harmless_attack_still_reads_below_one(facts: Any) -> None:
    for case in facts["conditional_bias"]["cases"]:
        value = harmless_survival([Fraction(str(p)) for p in case["task_p"]])
        assert value is not None
        assert float(value) == pytest.approx(case["value"], abs=1e-9)


def test_a_task_that_never_succeeds_says_nothing() -> None:
    assert harmless_survival([Fraction(0), Fraction(0)]) is None
    assert harmless_survival([]) is None
    with pytest.raises(ValueError, match=r"expected rates in \[0, 1\], found 3/2"):
        harmless_survival([Fraction(3, 2)])


@given(st.lists(st.fractions(0, 1, max_denominator=20), min_size=1, max_size=8).filter(any))
def test_reruns_estimate_the_bias_without_bias(rates: list[Fraction]) -> None:
    """Over all outcomes of three epochs, numerator and denominator average to E[p^2] and E[p]."""
    crossing = line(len(rates))
    epochs = 20
    exact = rerun_survival([int(rate * epochs) for rate in rates], [epochs] * len(rates), crossing, "task")
    counts = [int(rate * epochs) for rate in rates]
    if not any(counts):
        assert exact is None
        return
    pairs = sum(count * (count - 1) for count in counts)
    assert exact == Fraction(pairs, epochs * (epochs - 1)) / Fraction(sum(counts), epochs)
    assert exact <= 1


def test_rerun_reference_needs_two_epochs() -> None:
    assert rerun_survival([2, 1, 0], [2, 2, 2], line(3), "task") == Fraction(2, 3)
    assert rerun_survival([0, 0], [2, 2], line(2), "task") is None
    with pytest.raises(ValueError, match="at least 2 benign epochs in each cell, found 1"):
        rerun_survival([1, 1], [2, 1], line(2), "task")


def test_a_condition_that_never_held_is_undefined() -> None:
    found = conditional_rate([0, 0], [0, 0], [1, 1], line(2), "task")
    assert found.value is None
    assert found.weight == 0
    assert found.refusal == "undefined: the condition held in no episode"
    assert not found.influence.any()


def test_refused_with_few_tasks_or_little_weight() -> None:
    exposed = np.zeros(100, dtype=np.int64)
    exposed[:19] = 1
    assert conditional_rate(exposed, exposed, [1] * 100, line(100), "task").refusal == (
        "needs at least 20 contributing tasks, found 19"
    )
    exposed[:20] = 1
    assert conditional_rate(exposed, exposed, [1] * 100, line(100), "task").refusal is None
    few = np.concatenate([exposed, np.zeros(1, dtype=np.int64)])
    assert conditional_rate(few, few, [1] * 101, line(101), "task").refusal == (
        "needs at least 20 % of the suite's weight, found 19.80 %"
    )


def test_the_condition_bounds_the_hits() -> None:
    with pytest.raises(ValueError, match="row 1: expected hits <= exposed, found 1 of 0"):
        conditional_rate([0, 1], [1, 0], [1, 1], line(2), "task")


def test_influence_averages_to_zero() -> None:
    rng = np.random.default_rng(5)
    crossing = Crossing.of(np.repeat(np.arange(30), 4), np.tile(np.arange(4), 30), np.zeros(120, dtype=int))
    trials = rng.integers(1, 4, 120)
    exposed = rng.binomial(trials, 0.6)
    found = conditional_rate(rng.binomial(exposed, 0.5), exposed, trials, crossing, "cell")
    assert found.influence.mean() == pytest.approx(0, abs=1e-12)

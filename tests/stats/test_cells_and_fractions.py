"""Crossings, weights, exact means and decimals; and that the order in which cells come never shows."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pairmark
from pairmark.stats.arrays import IntArray
from pairmark.stats.crossing import WEIGHTINGS, Crossing, Weighting, cell_weights
from pairmark.stats.exact import cell_values, decimal_string, group_shares, weighted_mean, weighted_mean_by_group
from pairmark.stats.fourfold import Fourfold, flip_codes, fourfold
from pairmark.stats.hypothesis_tests import block_test
from pairmark.stats.intervals import difference_interval, rate_interval, tasks_departing
from pairmark.stats.variance import clustered_variance

Row = tuple[int, int, int, int, int, int, int]
"""group, task, injection, benign successes and trials, attacked successes and trials."""


@st.composite
def experiments(draw: st.DrawFn) -> list[Row]:
    keys = draw(
        st.lists(
            st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30, unique=True
        )
    )
    benign: dict[tuple[int, int], tuple[int, int]] = {}
    rows = []
    for group, task, injection in keys:
        if (group, task) not in benign:
            trials = draw(st.integers(1, 3))
            benign[group, task] = (draw(st.integers(0, trials)), trials)
        trials = draw(st.integers(1, 4))
        rows.append((group, group * 5 + task, injection, *benign[group, task], draw(st.integers(0, trials)), trials))
    return rows


def crossing_of(rows: list[Row]) -> Crossing:
    group, task, injection, *_ = np.array(rows).T
    return Crossing.of(task, injection, group)


def attacked(rows: list[Row]) -> tuple[IntArray, IntArray]:
    return np.array(rows)[:, 5], np.array(rows)[:, 6]


def benign(rows: list[Row]) -> tuple[IntArray, IntArray]:
    return np.array(rows)[:, 3], np.array(rows)[:, 4]


def naive_mean(rows: list[Row], counts: Any, weighting: Weighting) -> Fraction:
    per_task, per_group = Counter(row[1] for row in rows), Counter(row[0] for row in rows)
    total = Fraction(0)
    for row, successes, trials in zip(rows, *(column.tolist() for column in counts), strict=True):
        weight = {
            "task": Fraction(1, len(per_task) * per_task[row[1]]),
            "cell": Fraction(1, len(rows)),
            "group": Fraction(1, len(per_group) * per_group[row[0]]),
        }[weighting]
        total += weight * Fraction(successes, trials)
    return total


@given(experiments(), st.sampled_from(WEIGHTINGS))
def test_the_exact_mean_is_the_naive_one(rows: list[Row], weighting: Weighting) -> None:
    for counts in (attacked(rows), benign(rows)):
        found = weighted_mean(*counts, crossing_of(rows), weighting)
        assert found == naive_mean(rows, counts, weighting)
        assert 0 <= found <= 1


@given(experiments(), st.sampled_from(WEIGHTINGS))
def test_weights_sum_to_one_and_give_the_same_mean(rows: list[Row], weighting: Weighting) -> None:
    crossing = crossing_of(rows)
    weights = cell_weights(crossing, weighting)
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert weights.min() > 0
    values = crossing.arranged(cell_values(*attacked(rows)))
    assert float(weights @ values) == pytest.approx(
        float(weighted_mean(*attacked(rows), crossing, weighting)), abs=1e-12
    )
    shares = group_shares(crossing, weighting)
    assert sum(shares) == 1
    mass = np.bincount(crossing.group, weights=weights)
    assert [float(share) for share in shares] == pytest.approx(mass.tolist(), abs=1e-12)
    by_group = weighted_mean_by_group(*attacked(rows), crossing, weighting)
    assert all(0 <= part <= share for part, share in zip(by_group, shares, strict=True))


@given(experiments(), st.sampled_from(WEIGHTINGS), st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_cells_never_shows(rows: list[Row], weighting: Weighting, sample: bool, random: Any) -> None:
    def everything(given_rows: list[Row]) -> Any:
        crossing = crossing_of(given_rows)
        weights = cell_weights(crossing, weighting)
        drops = cell_values(*benign(given_rows)) - cell_values(*attacked(given_rows))
        variance = clustered_variance(drops, weights, crossing, sample_injections=sample)
        exact = weighted_mean(*attacked(given_rows), crossing, weighting)
        return exact, variance.value, variance.df, weights.tolist(), tasks_departing(drops, crossing)

    shuffled = list(rows)
    random.shuffle(shuffled)
    assert everything(rows) == everything(shuffled)


@given(experiments(), st.sampled_from(WEIGHTINGS), st.booleans())
def test_intervals_contain_their_estimates(rows: list[Row], weighting: Weighting, sample: bool) -> None:
    crossing = crossing_of(rows)
    weights = cell_weights(crossing, weighting)
    under_attack = float(weighted_mean(*attacked(rows), crossing, weighting))
    variance = clustered_variance(cell_values(*attacked(rows)), weights, crossing, sample_injections=sample)
    interval = rate_interval(under_attack, variance, crossing.task_count)
    assert 0 <= interval.low <= under_attack <= interval.high <= 1
    assert interval.high - interval.low > 0
    assert interval.n_eff is not None
    assert 1 <= interval.n_eff <= crossing.task_count

    drops = cell_values(*benign(rows)) - cell_values(*attacked(rows))
    drop = float(weighted_mean(*benign(rows), crossing, weighting)) - under_attack
    variance = clustered_variance(drops, weights, crossing, sample_injections=sample)
    found = difference_interval(drop, variance, crossing.task_count, tasks_departing(drops, crossing))
    assert -1 <= found.low <= drop <= found.high <= 1
    assert found.high > found.low
    assert variance.df is None or variance.df >= 1


@given(experiments(), st.sampled_from(WEIGHTINGS), st.booleans())
def test_the_drop_mirrors_when_the_arms_trade_places(rows: list[Row], weighting: Weighting, sample: bool) -> None:
    crossing = crossing_of(rows)
    weights = cell_weights(crossing, weighting)
    exact = weighted_mean(*benign(rows), crossing, weighting) - weighted_mean(*attacked(rows), crossing, weighting)
    drops = cell_values(*benign(rows)) - cell_values(*attacked(rows))
    one = clustered_variance(drops, weights, crossing, sample_injections=sample)
    other = clustered_variance(-drops, weights, crossing, sample_injections=sample)
    assert (one.value, one.df) == (other.value, other.df)
    departing = tasks_departing(drops, crossing)
    assert departing == tasks_departing(-drops, crossing)
    here = difference_interval(float(exact), one, crossing.task_count, departing)
    there = difference_interval(-float(exact), other, crossing.task_count, departing)
    assert (here.low, here.high) == (-there.high, -there.low)


@given(experiments())
def test_p_values_are_probabilities(rows: list[Row]) -> None:
    found = block_test(*benign(rows), *attacked(rows))
    for p in (found.p_two_sided, found.p_harm, found.p_gain):
        assert 0 < p <= 1
    assert found.mid_p is None or 0 <= found.mid_p <= found.p_two_sided


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 128), "0.007812"),
        (Fraction(3, 128), "0.023438"),
        (Fraction(-1, 128), "-0.007812"),
        (Fraction(-1, 10**9), "0.000000"),
        (Fraction(0), "0.000000"),
        (Fraction(1), "1.000000"),
        (Fraction(9999999, 10**7), "1.000000"),
        (Fraction(15, 16), "0.937500"),
        (Fraction(-4, 3), "-1.333333"),
        (0.5, "0.500000"),
        (0.1, "0.100000"),
    ],
)
def test_decimals_have_six_places_and_ties_go_to_even(value: Fraction | float, text: str) -> None:
    assert decimal_string(value) == text


def test_decimals_of_no_number_are_refused() -> None:
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="expected a finite number"):
            decimal_string(value)
    assert decimal_string(Fraction(5, 2), places=0) == "2"


def test_benign_is_weighted_like_the_attacked_arm() -> None:
    """Tasks with 1, 2, 3 injections, benign 1, 1, 0, attacked 0/1, 2/2, 3/3: drop 0 by task, -1/3 by cell, never -1/6."""
    crossing = Crossing.of([0, 1, 1, 2, 2, 2], [0, 0, 1, 0, 1, 2], [0] * 6)
    ones = [1] * 6
    drops = {
        weighting: weighted_mean([1, 1, 1, 0, 0, 0], ones, crossing, weighting)
        - weighted_mean([0, 1, 1, 1, 1, 1], ones, crossing, weighting)
        for weighting in WEIGHTINGS
    }
    assert drops == {"task": 0, "cell": Fraction(-1, 3), "group": Fraction(-1, 3)}


def test_malformed_cells_are_named() -> None:
    with pytest.raises(ValueError, match="expected at least one cell"):
        Crossing.of([], [], [])
    with pytest.raises(ValueError, match=r"each \(task, injection\) once, found one in rows 0 and 2"):
        Crossing.of([0, 1, 0], [5, 5, 5], [0, 0, 0])
    with pytest.raises(ValueError, match="found the task of row 1 in two"):
        Crossing.of([0, 1, 1], [0, 0, 1], [0, 0, 1])
    with pytest.raises(ValueError, match="injection: expected 2 values, found 1"):
        Crossing.of([0, 1], [0], [0, 0])
    with pytest.raises(ValueError, match="task: expected integers, found float64"):
        Crossing.of([0.0, 1.0], [0, 0], [0, 0])
    with pytest.raises(ValueError, match="task: expected integers, found bool"):
        Crossing.of([True, False], [0, 0], [0, 0])
    with pytest.raises(ValueError, match="task: expected a one-dimensional array"):
        Crossing.of([[0, 1]], [[0, 0]], [[0, 0]])
    crossing = Crossing.of([0, 1], [0, 0], [0, 0])
    with pytest.raises(ValueError, match="row 1: expected 0 <= successes <= trials and trials >= 1, found 0 of 0"):
        weighted_mean([1, 0], [1, 0], crossing, "task")
    with pytest.raises(ValueError, match="successes: expected 2 values, found 3"):
        weighted_mean([1, 0, 1], [1, 1, 1], crossing, "task")
    with pytest.raises(ValueError, match="weighting: expected one of task, cell, group, found 'tasks'"):
        cell_weights(crossing, "tasks")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"fewer than 2\*\*53"):
        weighted_mean([1, 0], [2**53, 1], crossing, "task")


def test_injections_of_two_groups_are_two_injections() -> None:
    crossing = Crossing.of([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 7, 7])
    assert (crossing.task_count, crossing.injection_count, crossing.group_count) == (2, 4, 2)
    assert crossing.is_complete()
    assert crossing.injections_per_group().tolist() == [2, 2]


def test_sparse_codes_mean_the_same() -> None:
    dense = Crossing.of([0, 0, 1, 2], [0, 1, 0, 1], [0, 0, 0, 1])
    sparse = Crossing.of([-5, -5, 10**12, 10**15], [3, 10**10, 3, 10**10], [2, 2, 2, 10**17])
    for name in ("task", "injection", "group", "task_group", "injection_group"):
        assert getattr(dense, name).tolist() == getattr(sparse, name).tolist()


def test_a_million_cells() -> None:
    rng = np.random.default_rng(0)
    task, injection = np.divmod(np.arange(1_000_000), 1000)
    order = rng.permutation(1_000_000)
    crossing = Crossing.of(task[order], injection[order], task[order] // 250)
    trials = rng.integers(1, 6, 1_000_000)
    successes = rng.binomial(trials, 0.5)
    for weighting in WEIGHTINGS:
        exact = weighted_mean(successes, trials, crossing, weighting)
        values = crossing.arranged(cell_values(successes, trials))
        assert float(exact) == pytest.approx(float(cell_weights(crossing, weighting) @ values), abs=1e-12)
    variance = clustered_variance(
        cell_values(successes, trials), cell_weights(crossing, "task"), crossing, sample_injections=True
    )
    assert 0 < variance.se < 0.01


def test_fourfold_counts_and_refusals() -> None:
    first, second = np.array([True, True, False, False, True]), np.array([True, False, True, False, False])
    assert flip_codes(first, second).tolist() == [0, 1, 2, 3, 1]
    assert fourfold(first, second) == Fourfold(1, 2, 1, 1)
    assert fourfold(first, second).flip_rate == Fraction(3, 5)
    assert fourfold(first[:0], second[:0]).total == 0
    with pytest.raises(ValueError, match="second: expected booleans, found int64; leave out unknown outcomes"):
        fourfold(first, second.astype(np.int64))
    with pytest.raises(ValueError, match="second: expected 5 values, found 4"):
        fourfold(first, second[:4])
    with pytest.raises(ValueError, match="expected counts of at least 0"):
        Fourfold(1, -1, 0, 0)


def test_importing_the_layer_loads_neither_scipy_nor_statsmodels() -> None:
    code = (
        "import importlib, pkgutil, sys, pairmark.stats as layer;"
        "[importlib.import_module(m.name) for m in pkgutil.walk_packages(layer.__path__, layer.__name__ + '.')];"
        "heavy = {'scipy', 'statsmodels', 'polars', 'pandas', 'pydantic'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    source = str(Path(next(iter(pairmark.__path__))).parent)
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert finished.returncode == 0, finished.stderr

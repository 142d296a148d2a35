"""Suites so small or so uniform that formulas degenerate: never an interval of no width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pairmark.stats.crossing import Crossing, cell_weights
from pairmark.stats.exact import weighted_mean
from pairmark.stats.hypothesis_tests import p_attacked_above_benign
from pairmark.stats.intervals import Interval, difference_interval, rate_interval, t_quantile, tasks_departing
from pairmark.stats.scope import decide_scope
from pairmark.stats.variance import Variance, WeightedCells, clustered_variance, satterthwaite

NEAR = 1e-9


def columns(case: Any) -> tuple[list[int], list[int], list[int], list[int]]:
    """Task, injection, benign and attacked of each cell; the named case where it lists none."""
    if isinstance(case["cells"], str):
        attacked = 0 if case["name"].startswith("0 of 20") else 1
        return [t for t in range(20) for _ in range(5)], list(range(5)) * 20, [1] * 100, [attacked] * 100
    cells = case["cells"]
    task, injection = ([int(cell[key][1:]) for cell in cells] for key in ("task", "injection"))
    return task, injection, [cell["benign"] for cell in cells], [cell["attacked"] for cell in cells]


def check(value: float, variance: Variance, interval: Interval, expected: Any) -> None:
    assert value == pytest.approx(expected["estimate"], abs=NEAR)
    assert variance.se == pytest.approx(expected["se"], abs=NEAR)
    assert variance.df == (None if expected["df"] is None else pytest.approx(expected["df"], abs=NEAR))
    assert (interval.low, interval.high) == pytest.approx((expected["lo"], expected["hi"]), abs=NEAR)


def test_reference_values(facts: Any) -> None:
    for case in facts["edge_cases"]:
        task, injection, benign, attacked = columns(case)
        crossing = Crossing.of(task, injection, [0] * len(task))
        weights = cell_weights(crossing, "task")

        ones = [1] * len(task)
        exact = weighted_mean(attacked, ones, crossing, "task")
        rate = float(exact)
        variance = clustered_variance(attacked, weights, crossing, sample_injections=True)
        interval = rate_interval(rate, variance, crossing.task_count)
        assert interval.n_eff == pytest.approx(case["attacked"]["n_eff"], abs=NEAR)
        check(rate, variance, interval, case["attacked"])

        differences = np.array(benign) - np.array(attacked)
        departing = tasks_departing(differences, crossing)
        assert departing == case["drop"]["tasks_differing"]
        drop = float(weighted_mean(benign, ones, crossing, "task") - exact)
        variance = clustered_variance(differences, weights, crossing, sample_injections=True)
        interval = difference_interval(drop, variance, crossing.task_count, departing)
        assert interval.floored is case["drop"]["floored"]
        check(drop, variance, interval, case["drop"])
        if crossing.task_count < 10:
            assert decide_scope(crossing).no_interval_reason is not None


def crossing_of(tasks: int, injections: int, groups: int = 1) -> Crossing:
    s, t, i = np.indices((groups, tasks, injections)).reshape(3, -1)
    return Crossing.of(s * tasks + t, i, s)


@pytest.mark.parametrize("value", [0.0, 0.25, 0.5, 1.0])
def test_equal_cells_never_give_an_interval_of_no_width(value: float) -> None:
    crossing = crossing_of(20, 4)
    values = np.full(crossing.cell_count, value)
    variance = clustered_variance(values, cell_weights(crossing, "task"), crossing, sample_injections=True)
    assert (variance.value, variance.df) == (0.0, None)
    rate = rate_interval(value, variance, 20)
    assert (rate.n_eff, rate.method) == (20, "wilson")
    assert rate.high - rate.low > 0.1
    difference = difference_interval(value, variance, 20, tasks_departing(values, crossing))
    assert difference.floored
    assert difference.high - difference.low > 0.1


def test_groups_that_differ_only_between_them_have_a_floor_too() -> None:
    crossing = crossing_of(15, 4, groups=2)
    values = crossing.group.astype(float)
    variance = clustered_variance(values, cell_weights(crossing, "task"), crossing, sample_injections=True)
    assert variance.df is None
    assert tasks_departing(values, crossing) == 15
    assert difference_interval(0.5, variance, 30, 15).floored


@pytest.mark.parametrize(("values", "departing"), [([0, 0, 0], 0), ([1, 1, 1], 0), ([-1, -1, -1], 0), ([1, 0, -1], 2)])
def test_departing_tasks_are_counted_from_the_nearest_sameness(values: list[int], departing: int) -> None:
    assert tasks_departing(values, crossing_of(3, 1)) == departing


def test_losses_and_gains_in_one_task_cancel() -> None:
    assert tasks_departing([1, -1, 0, 0], crossing_of(2, 2)) == 0


def test_a_difference_of_differences_reaches_to_two() -> None:
    crossing = crossing_of(20, 4)
    variance = clustered_variance(np.full(80, 2.0), cell_weights(crossing, "task"), crossing, sample_injections=True)
    interval = difference_interval(2.0, variance, 20, 0, limit=2.0)
    assert interval.high == 2.0
    assert interval.low == pytest.approx(2 - 2 * 0.16112515805281938)
    with pytest.raises(ValueError, match=r"expected a difference in \[-1.0, 1.0\], found 2.0"):
        difference_interval(2.0, variance, 20, 0)


def test_a_single_task_shows_no_variance_between_tasks() -> None:
    crossing = Crossing.of([0, 0, 1, 2], [0, 1, 2, 2], [0, 0, 1, 1])
    found = clustered_variance([1, 0, 1, 0], cell_weights(crossing, "task"), crossing, sample_injections=True)
    assert found.task_df.tolist() == [0, 1]
    assert found.injection_df.tolist() == [1, 0]
    assert found.task_parts[0] == found.injection_parts[1] == 0
    assert found.value == pytest.approx(1 / 9 + 1 / 36, rel=1e-12)


@pytest.mark.parametrize(
    ("tasks", "injections", "groups", "name", "flags", "interval"),
    [
        (10, 14, 1, "tasks+injections", (), True),
        (10, 13, 1, "tasks+injections", ("few-injections",), True),
        (10, 8, 1, "tasks+injections", ("few-injections",), True),
        (10, 7, 1, "these-injections", (), True),
        (9, 14, 1, "these-injections", (), False),
        (5, 7, 2, "tasks+injections", (), True),
        (5, 4, 2, "tasks+injections", ("few-injections",), True),
        (5, 1, 20, "these-injections", (), True),
    ],
)
def test_scope(tasks: int, injections: int, groups: int, name: str, flags: tuple[str, ...], interval: bool) -> None:
    scope = decide_scope(crossing_of(tasks, injections, groups))
    assert (scope.name, scope.flags) == (name, flags)
    assert scope.samples_injections is (name == "tasks+injections")
    assert (scope.no_interval_reason is None) is interval


def test_the_sign_test_is_undefined_without_variance_and_one_sided_with_it() -> None:
    crossing = crossing_of(20, 1)
    weights = cell_weights(crossing, "task")
    none = clustered_variance(np.full(20, -0.5), weights, crossing, sample_injections=False)
    assert p_attacked_above_benign(-0.5, none) is None
    values = np.where(np.arange(20) < 15, -1.0, 0.0)
    some = clustered_variance(values, weights, crossing, sample_injections=False)
    from scipy import stats

    reference = stats.ttest_1samp(values, 0.0, alternative="less").pvalue
    assert p_attacked_above_benign(-0.75, some) == pytest.approx(reference, rel=1e-9)


def test_t_quantile_meets_the_normal_and_refuses_no_freedom() -> None:
    assert t_quantile(1e12) == pytest.approx(1.959963984540054, abs=1e-9)
    assert t_quantile(1) == pytest.approx(12.706204736432095, abs=1e-9)
    with pytest.raises(ValueError, match="expected a number above 0"):
        t_quantile(0)


def test_satterthwaite_of_nothing_is_undefined() -> None:
    with pytest.raises(ValueError, match="found none"):
        satterthwaite(np.array([0.0, 1.0]), np.array([3.0, 0.0]))
    assert satterthwaite(np.array([1.0]), np.array([0.5])) == 1.0


def test_malformed_columns_are_named() -> None:
    crossing = crossing_of(3, 2)
    weights = cell_weights(crossing, "task")
    with pytest.raises(ValueError, match="values: expected 6 values, found 5"):
        clustered_variance(np.zeros(5), weights, crossing, sample_injections=True)
    with pytest.raises(ValueError, match="values: expected finite numbers, found nan at position 2"):
        clustered_variance([0, 1, float("nan"), 0, 0, 0], weights, crossing, sample_injections=True)
    with pytest.raises(ValueError, match="weights: expected none below 0"):
        clustered_variance(np.zeros(6), -weights, crossing, sample_injections=True)
    with pytest.raises(ValueError, match="found a group without"):
        WeightedCells(crossing, np.zeros(6))
    with pytest.raises(ValueError, match="expected at least 1, found 0"):
        difference_interval(0.0, clustered_variance(np.zeros(6), weights, crossing, sample_injections=True), 0, 0)

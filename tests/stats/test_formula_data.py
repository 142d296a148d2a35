"""Reference values on generated suites of real size, with statsmodels' cluster covariance as the second path."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.sandwich_covariance import cov_cluster

from pairmark.stats.crossing import Crossing, Weighting, cell_weights
from pairmark.stats.intervals import difference_interval, rate_interval, tasks_departing
from pairmark.stats.variance import clustered_variance, pigeonhole_variance

NEAR = 1e-9
Array = npt.NDArray[Any]


class Generated:
    """benign = 1 if (7t+3s)%10 < 8; attacked = 1 if ((7t+3s)%10 + (i*i+2ti+s)%5) < 7 and (ti+3i+s+1)%11 != 0."""

    def __init__(self, design: list[list[int]]) -> None:
        rows = [
            (s, t, i) for s, (tasks, injections) in enumerate(design) for t in range(tasks) for i in range(injections)
        ]
        s, t, i = np.array(rows).T
        self.group = s
        self.task, self.injection = s * 1000 + t, s * 1000 + i
        self.benign = ((7 * t + 3 * s) % 10 < 8).astype(float)
        hard = (7 * t + 3 * s) % 10 + (i * i + 2 * t * i + s) % 5
        self.attacked = ((hard < 7) & ((t * i + 3 * i + s + 1) % 11 != 0)).astype(float)
        self.crossing = Crossing.of(self.task, self.injection, self.group)


def check(found: tuple[float, float, float | None, float, float], expected: Any, n_eff: float | None) -> None:
    estimate, se, df, low, high = found
    assert estimate == pytest.approx(expected["estimate"], abs=NEAR)
    assert se == pytest.approx(expected["se"], abs=NEAR)
    assert df == pytest.approx(expected["df"], abs=NEAR)
    assert (low, high) == pytest.approx(expected["interval"], abs=NEAR)
    assert n_eff == (pytest.approx(expected["n_eff"], abs=NEAR) if "n_eff" in expected else None)


@pytest.mark.parametrize(("prefix", "weighting"), [("macro", "task"), ("micro", "cell")])
def test_rates_and_drop(facts: Any, prefix: str, weighting: Weighting) -> None:
    for case in facts["formula_data"]["cases"]:
        data = Generated(case["design"])
        assert data.crossing.cell_count == case["cells"]
        weights = cell_weights(data.crossing, weighting)
        for arm, values in (("benign", data.benign), ("attacked", data.attacked)):
            sample = arm == "attacked"
            variance = clustered_variance(values, weights, data.crossing, sample_injections=sample)
            estimate = float(weights @ values)
            interval = rate_interval(estimate, variance, data.crossing.task_count)
            found = (estimate, variance.se, variance.df, interval.low, interval.high)
            check(found, case[f"{prefix}_{arm}"], interval.n_eff)
        drops = data.benign - data.attacked
        variance = clustered_variance(drops, weights, data.crossing, sample_injections=True)
        departing = tasks_departing(drops, data.crossing)
        expected = case[f"{prefix}_drop"]
        assert departing == expected["tasks_differing"]
        estimate = float(weights @ drops)
        interval = difference_interval(estimate, variance, data.crossing.task_count, departing)
        assert interval.floored is expected["floored"]
        check((estimate, variance.se, variance.df, interval.low, interval.high), expected, None)


def test_pigeonhole_bootstrap_in_closed_form(facts: Any) -> None:
    for case in facts["formula_data"]["cases"]:
        if "pigeonhole_se_micro_attacked_closed_form" not in case:
            continue
        data = Generated(case["design"])
        variance = pigeonhole_variance(data.attacked, cell_weights(data.crossing, "cell"), data.crossing)
        assert variance is not None
        assert variance**0.5 == pytest.approx(case["pigeonhole_se_micro_attacked_closed_form"], abs=NEAR)


def test_pigeonhole_equals_its_bootstrap() -> None:
    data = Generated([[12, 5], [8, 4]])
    exact = pigeonhole_variance(data.attacked, cell_weights(data.crossing, "cell"), data.crossing)
    rng = np.random.default_rng(3)
    draws = np.zeros(20_000)
    for group, (tasks, injections) in enumerate(((12, 5), (8, 4))):
        y = data.attacked[data.group == group].reshape(tasks, injections)
        rows = rng.multinomial(tasks, np.full(tasks, 1 / tasks), draws.size)
        columns = rng.multinomial(injections, np.full(injections, 1 / injections), draws.size)
        draws += ((rows @ y) * columns).sum(axis=1) / data.crossing.cell_count
    assert exact is not None
    assert draws.var() == pytest.approx(exact, rel=0.04)


def test_pigeonhole_needs_a_complete_crossing_and_equal_weights() -> None:
    data = Generated([[12, 5]])
    weights = cell_weights(data.crossing, "cell")
    assert pigeonhole_variance(data.attacked, weights, data.crossing) is not None
    assert pigeonhole_variance(data.attacked, weights * np.linspace(1, 2, weights.size), data.crossing) is None
    part = Crossing.of(data.task[1:], data.injection[1:], data.group[1:])
    assert pigeonhole_variance(data.attacked[1:], weights[1:], part) is None


def test_three_terms_with_statsmodels(facts: Any) -> None:
    """The published three-term estimator (one factor G/(G-1) over all groups) from our parts, and from statsmodels."""
    for case in facts["formula_data"]["cases"]:
        if "cgm_micro_attacked" not in case:
            continue
        data, expected = Generated(case["design"]), case["cgm_micro_attacked"]
        variance = clustered_variance(
            data.attacked, cell_weights(data.crossing, "cell"), data.crossing, sample_injections=True
        )
        by_task = rescaled(variance.task_parts, variance.task_df)
        by_injection = rescaled(variance.injection_parts, variance.injection_df)
        assert by_task == pytest.approx(expected["V_task"], abs=NEAR)
        assert by_injection == pytest.approx(expected["V_injection"], abs=NEAR)

        fit, shares = by_suite(data)
        assert by_task == pytest.approx(reference(fit, shares, data.task), abs=1e-12)
        assert by_injection == pytest.approx(reference(fit, shares, data.injection), abs=1e-12)
        by_cell = reference(fit, shares, np.arange(data.crossing.cell_count))
        assert by_cell == pytest.approx(expected["V_cell"], abs=NEAR)
        assert by_task + by_injection - by_cell == pytest.approx(expected["V"], abs=NEAR)
        assert float(shares @ fit.params) == pytest.approx(expected["mean"], abs=NEAR)


def rescaled(parts: Array, dfs: Array) -> float:
    """The parts of a factor with one G/(G-1) over all groups in place of each group's own."""
    levels = dfs + 1
    return float(np.sum(parts * dfs / levels) * levels.sum() / (levels.sum() - 1))


def by_suite(data: Generated) -> tuple[Any, Array]:
    dummies = (data.group[:, None] == np.unique(data.group)).astype(float)
    return sm.OLS(data.attacked, dummies).fit(), dummies.mean(axis=0)


def reference(fit: Any, shares: Array, codes: Array) -> float:
    levels, index = np.unique(codes, return_inverse=True)
    covariance = cov_cluster(fit, index, use_correction=False)
    return float(shares @ covariance @ shares) * levels.size / (levels.size - 1)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(["task", "cell", "group"]), st.booleans())
def test_parts_equal_weighted_cluster_covariance(seed: int, weighting: Weighting, sample: bool) -> None:
    """Each group alone, on incomplete crossings with unequal weights, from statsmodels' weighted regression."""
    rng = np.random.default_rng(seed)
    s, t, i = np.indices((3, 7, 5)).reshape(3, -1)
    keep = rng.random(s.size) < 0.8
    s, t, i = s[keep], t[keep], i[keep]
    values = rng.normal(size=s.size)
    crossing = Crossing.of(s * 100 + t, s * 100 + i, s)
    weights = cell_weights(crossing, weighting)
    found = clustered_variance(values, weights, crossing, sample_injections=sample)
    for group in range(crossing.group_count):
        rows = crossing.group == group
        fit = sm.WLS(values[rows], np.ones(rows.sum()), weights=weights[rows]).fit()
        share = weights[rows].sum()
        for codes, parts, wanted in (
            (crossing.task, found.task_parts, True),
            (crossing.injection, found.injection_parts, sample),
        ):
            levels = np.unique(codes[rows], return_inverse=True)[1]
            reference = 0.0
            if wanted and levels.max() > 0:
                reference = share**2 * cov_cluster(fit, levels, use_correction=False).item()
                reference *= (levels.max() + 1) / levels.max()
            assert parts[group] == pytest.approx(reference, abs=1e-12)

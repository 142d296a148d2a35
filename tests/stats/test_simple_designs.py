"""Reference values for independent trials and pairs: Wilson, Clopper-Pearson, Newcombe, Tango, McNemar, Holm, floor."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from pairmark.stats.fourfold import Fourfold
from pairmark.stats.hypothesis_tests import holm, mcnemar_exact
from pairmark.stats.intervals import clopper_pearson, floor_half_width, wilson
from pairmark.stats.paired_intervals import newcombe, tango

NEAR = 1e-9


def test_wilson_and_clopper_pearson(facts: Any) -> None:
    for case in facts["wilson_clopper_pearson"]["cases"]:
        successes, n = case["successes"], case["n"]
        assert wilson(successes / n, n) == pytest.approx(case["wilson"], abs=NEAR)
        assert clopper_pearson(successes, n) == pytest.approx(case["clopper_pearson"], abs=NEAR)
        assert wilson(successes / n, n) == pytest.approx(proportion_confint(successes, n, method="wilson"), abs=NEAR)
        assert clopper_pearson(successes, n) == pytest.approx(proportion_confint(successes, n, method="beta"), abs=NEAR)


def test_a_rate_over_nothing_has_no_interval(facts: Any) -> None:
    for case in facts["wilson_clopper_pearson"]["refuse"]:
        with pytest.raises(ValueError, match="a rate over nothing is undefined"):
            wilson(0.0, case["n"])
        with pytest.raises(ValueError, match="a rate over nothing is undefined"):
            clopper_pearson(case["successes"], case["n"])


def test_impossible_rates_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected a rate in \[0, 1\], found 1\.5"):
        wilson(1.5, 10)
    with pytest.raises(ValueError, match="expected 0 to 3, found 4"):
        clopper_pearson(4, 3)


def test_mcnemar(facts: Any) -> None:
    for case in facts["mcnemar_exact"]["cases"]:
        found = mcnemar_exact(case["lost"], case["gained"])
        assert found.fractions is not None
        assert found.fractions[0] == Fraction(case["p_fraction"])
        assert found.p_two_sided == pytest.approx(case["p_two_sided"], abs=NEAR)
        assert found.mid_p == (None if case["mid_p"] is None else pytest.approx(case["mid_p"], abs=NEAR))
        table = [[5, case["lost"]], [case["gained"], 5]]
        assert found.p_two_sided == pytest.approx(statsmodels_mcnemar(table, exact=True).pvalue, abs=NEAR)


def test_mcnemar_refuses_negative_counts() -> None:
    with pytest.raises(ValueError, match="expected counts of at least 0"):
        mcnemar_exact(-1, 3)


def test_newcombe_and_tango(facts: Any) -> None:
    for case in facts["newcombe_tango_paired"]["cases"]:
        table = Fourfold(case["both"], case["benign_only_lost"], case["attacked_only_gained"], case["neither"])
        assert table.difference is not None
        assert float(table.difference) == pytest.approx(case["drop"], abs=NEAR)
        assert newcombe(table, continuity_corrected=True) == pytest.approx(case["newcombe10_cc"], abs=NEAR)
        assert newcombe(table, continuity_corrected=False) == pytest.approx(case["newcombe10_no_cc"], abs=NEAR)
        assert tango(table) == pytest.approx(case["tango"], abs=NEAR)


def test_a_difference_over_no_pairs_has_no_interval() -> None:
    nothing = Fourfold(0, 0, 0, 0)
    assert nothing.difference is None
    assert nothing.flip_rate is None
    with pytest.raises(ValueError, match="a difference over nothing is undefined"):
        newcombe(nothing, continuity_corrected=True)
    with pytest.raises(ValueError, match="a difference over nothing is undefined"):
        tango(nothing)


@pytest.mark.parametrize("table", [Fourfold(0, 20, 0, 0), Fourfold(0, 0, 20, 0)])
def test_tango_reaches_the_end_where_every_pair_flips(table: Fourfold) -> None:
    low, high = tango(table)
    sign = 1 if table.first_only else -1
    assert sign in (low, high)
    assert low < high


def test_holm(facts: Any) -> None:
    for case in facts["holm"]:
        assert holm(case["p"]) == pytest.approx(case["holm"], abs=NEAR)
        assert holm(case["p"]) == pytest.approx(multipletests(case["p"], method="holm")[1].tolist(), abs=NEAR)


def test_holm_of_nothing_is_nothing_and_of_a_non_probability_refused() -> None:
    assert holm([]) == []
    with pytest.raises(ValueError, match=r"expected numbers in \[0, 1\], found 1\.2"):
        holm([0.1, 1.2])
    with pytest.raises(ValueError, match="found nan"):
        holm([float("nan")])


def test_floor(facts: Any) -> None:
    for case in facts["floor_halfwidth"]:
        tasks, expected = case["tasks"], case["halfwidth"]
        assert floor_half_width(tasks) == pytest.approx(expected, abs=NEAR)
        assert tango(Fourfold(tasks, 0, 0, 0)) == pytest.approx((-expected, expected), abs=NEAR)
        assert wilson(0.0, tasks) == pytest.approx((0.0, expected), abs=NEAR)

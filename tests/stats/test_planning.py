"""Planning figures, among them 142 tasks at 8.18 points, and 312, 626, 940 tasks for five points."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.stats import crossed_design, planning
from pairmark.stats.crossed_design import FACTORS, Components, Design, crossed_half_width, times_to_halve
from pairmark.stats.intervals import wilson
from pairmark.stats.planning import CALLS_PER_EPISODE, Range

POINTS = Fraction(5, 100)


def answer(case: Any) -> Any:
    kind, p, n = case["kind"], case.get("p"), case.get("n")
    psi = case.get("discordance")
    pilot = Components(task=0.15, injection=0.005, interaction=0.02, attacked_rerun=0.07)
    design = Design(tasks=97, injections=10, cells=970)
    match kind:
        case "halfwidth":
            return planning.half_width(p, n, case["deff"])
        case "clean_tasks":
            return planning.clean_tasks(case["tasks"], Fraction(str(case["clean_pass"])))
        case "wilson at 78/142":
            return wilson(78 / 142, 142)
        case "unpaired difference halfwidth":
            return planning.unpaired_half_width(p, n)
        case "minimum detectable unpaired difference, 80% power":
            return planning.unpaired_detectable(p, n)
        case "paired tasks for a 5-point difference, 80% power":
            return planning.paired_tasks(0.05, psi)
        case "minimum detectable paired difference, 80% power (null variance)":
            return planning.paired_detectable(psi, n)
        case "power of the 5-point paired comparison at n=142":
            return planning.paired_power(0.05, psi, 142)
        case "n for halfwidth":
            return planning.tasks_for_half_width(p, case["halfwidth"])
        case "halving ratio of independent tasks":
            return times_to_halve(Components(0.25, 0, 0, 0), design, "tasks")
        case "episodes":
            cells = round(case["T"] * case["I_mean"])
            return planning.episode_count(case["T"], cells, case["K_benign"], case["K_attacked"], case["baseline"])
        case "crossed halfwidth of a level":
            return crossed_half_width(pilot, design)
        case "same, 4x seeds":
            return crossed_half_width(pilot, design.scaled("attacked_epochs", 4))
        case "same, 4x tasks":
            return crossed_half_width(pilot, design.scaled("tasks", 4))
        case "same, 4x tasks and 4x injections":
            return crossed_half_width(pilot, design.scaled("tasks+injections", 4))
    raise AssertionError(f"no answer for {kind!r}")


def test_reference_values(facts: Any) -> None:
    for case in facts["planning"]:
        assert answer(case) == pytest.approx(case["value"], abs=1e-9), case


def test_the_worked_example() -> None:
    clean = planning.clean_tasks(200, Fraction(71, 100))
    assert clean == 142
    assert round(100 * planning.half_width(0.55, clean), 2) == 8.18
    assert planning.tasks_for_half_width(0.55, planning.half_width(0.55, clean) / 2) == 568
    assert [planning.paired_tasks(0.05, psi) for psi in (0.1, 0.2, 0.3)] == [312, 626, 940]


@given(st.floats(0.02, 0.4), st.floats(0.41, 1.0), st.floats(0.5, 8))
def test_so_many_tasks_have_the_power_asked_for(difference: float, discordance: float, deff: float) -> None:
    tasks = planning.paired_tasks(difference, discordance, deff)
    assert planning.paired_power(difference, discordance, tasks, deff) >= 0.8 - 1e-6
    if tasks > 1:
        assert planning.paired_power(difference, discordance, tasks - 1, deff) < 0.8 + 1e-6
    assert planning.paired_power(-difference, discordance, tasks, deff) == planning.paired_power(
        difference, discordance, tasks, deff
    )


@given(st.floats(0.01, 0.99), st.floats(0.005, 0.5), st.floats(0.5, 8))
def test_so_many_tasks_have_the_width_asked_for(rate: float, target: float, deff: float) -> None:
    tasks = planning.tasks_for_half_width(rate, target, deff)
    assert planning.half_width(rate, tasks, deff) <= target * (1 + 1e-8)
    if tasks > 1:
        assert planning.half_width(rate, tasks - 1, deff) > target


PARTS = st.floats(0, 0.25).map(lambda value: 0.0 if value < 1e-6 else value)


@given(st.tuples(PARTS, PARTS, PARTS, PARTS, PARTS).filter(any), st.sampled_from(FACTORS))
def test_the_multiple_that_halves_does_halve(parts: Any, factor: crossed_design.Factor) -> None:
    components, design = Components(*parts), Design(50, 12, 600, 2, 3)
    times = times_to_halve(components, design, factor)
    before = crossed_half_width(components, design)
    if times is None:
        assert crossed_half_width(components, design.scaled(factor, 1e6)) >= before / 2 * (1 - 1e-3)
    else:
        assert times >= 2 - 1e-9
        assert crossed_half_width(components, design.scaled(factor, times)) == pytest.approx(before / 2, rel=1e-6)


def test_more_seeds_do_not_halve_what_tasks_cause() -> None:
    pilot, design = Components(0.15, 0.005, 0.02, 0.07, 0.05), Design(97, 10, 970)
    assert times_to_halve(pilot, design, "attacked_epochs") is None
    assert times_to_halve(pilot, design, "benign_epochs") is None
    assert times_to_halve(pilot, design, "injections") is None
    assert times_to_halve(pilot, design, "tasks+injections") == pytest.approx(3.91, abs=0.02)


def test_a_difference_larger_than_the_discordance_is_never_found() -> None:
    assert planning.paired_detectable(0.1, 142) is not None
    assert planning.paired_detectable(0.01, 142) is None


def test_design_effect_of_a_pilot() -> None:
    assert planning.design_effect(0.0025, 0.5, 100) == pytest.approx(1.0)
    assert planning.design_effect(0.0, 1.0, 100) is None
    with pytest.raises(ValueError, match="variance: expected at least 0"):
        planning.design_effect(-1.0, 0.5, 100)


def test_effort_in_ranges() -> None:
    found = planning.effort(2383, CALLS_PER_EPISODE, Range(2, 6), Range(0.001, 0.01))
    assert found.model_calls == Range(11_915, 35_745)
    assert found.hours == Range(11_915 * 2 / 3600, 35_745 * 6 / 3600)
    assert (found.cost.low, found.cost.high) == pytest.approx((11.915, 357.45), rel=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda: planning.half_width(1.1, 100),
        lambda: planning.half_width(0.5, 0),
        lambda: planning.half_width(0.5, 100, deff=0),
        lambda: planning.half_width(float("nan"), 100),
        lambda: planning.tasks_for_half_width(0.5, 0.0),
        lambda: planning.paired_tasks(0.0, 0.2),
        lambda: planning.paired_tasks(0.3, 0.2),
        lambda: planning.paired_tasks(0.1, 0.2, power=1.0),
        lambda: planning.paired_power(0.1, 1.2, 100),
        lambda: planning.episode_count(-1, 10, 1, 1, 1),
        lambda: planning.effort(-1, CALLS_PER_EPISODE, Range(1, 2), Range(0, 0)),
        lambda: Range(2, 1),
        lambda: Range(0, float("inf")),
        lambda: Components(0, 0, 0, 0),
        lambda: Components(-0.1, 0, 0, 1),
        lambda: Design(0, 1, 1),
    ],
)
def test_impossible_plans_are_refused(call: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        call()

"""Plans: precision, power, what halves the interval, and cost."""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.app.plan_evaluation import plan_evaluation
from pairmark.app.planning.halving import OTHERS_LEFT
from pairmark.app.planning.inputs import PlannedSuite
from pairmark.app.planning.pilot import pilot_facts
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.evaluation_plan import Effort, EvaluationPlan, NoRange, PlanRequest
from pairmark.domain.errors import Malformed
from pairmark.domain.plan import Plan
from pairmark.domain.world import World
from pairmark.stats import planning
from pairmark.stats.components import estimate_components, rerun_variance
from pairmark.stats.crossing import Crossing
from tests.compare.pairs import certified
from tests.compare.suites import item, manifest, read


def plan(suite: PlannedSuite | None = None, **asked: Any) -> EvaluationPlan:
    request, _ = read_document(PlanRequest, json.dumps(asked).encode())
    return plan_evaluation(request, suite, None)


def oracle(shared: Path, kind: str, **where: Any) -> Any:
    rows = json.loads((shared / "oracle.json").read_text())["planning"]
    return next(row["value"] for row in rows if row["kind"] == kind and all(row.get(key) == value for key, value in where.items()))


def test_the_142_task_example() -> None:
    found = plan(tasks=200, clean_rate=0.71, survival=0.55, half_width=0.08)
    assert found.clean_tasks == 142
    assert found.utility.half_width == "0.081826"
    assert found.for_halving is not None
    assert (found.for_halving.counted, found.for_halving.suite) == (568, 800)
    assert found.for_half_width is not None
    assert found.for_half_width.counted == 149
    assert found.benign_utility is not None
    assert found.benign_utility.half_width == "0.062887"
    tasks, *others = found.halving
    assert (tasks.factor, tasks.times, tasks.size) == ("tasks", "4.000000", 800)
    assert all(other.times is None and other.reason for other in others)


def test_a_five_point_paired_difference() -> None:
    found = plan(tasks=142, survival=0.55, difference=0.05)
    assert [(need.discordance, need.counted) for need in found.for_difference] == [
        ("0.100000", 312), ("0.200000", 626), ("0.300000", 940),
    ]
    assert found.power is None
    assert plan(tasks=142, survival=0.55, difference=0.05, discordance=0.2).for_difference[0].counted == 626


def test_detectable_differences_and_power_are_the_oracles(shared: Path) -> None:
    found = plan(tasks=200, clean_rate=0.71, survival=0.55, difference=0.05, discordance=0.2)
    assert found.power is not None
    assert float(found.power) == pytest.approx(oracle(shared, "power of the 5-point paired comparison at n=142"), abs=5e-7)
    for psi in (0.1, 0.2, 0.3):
        shown = plan(tasks=200, clean_rate=0.71, survival=0.55, discordance=psi).detectable[0]
        assert shown.paired is not None
        expected = oracle(shared, "minimum detectable paired difference, 80% power (null variance)", discordance=psi)
        assert float(shown.paired) == pytest.approx(expected, abs=5e-7)
        unpaired = oracle(shared, "minimum detectable unpaired difference, 80% power")
        assert float(shown.unpaired) == pytest.approx(unpaired, abs=5e-7)


def test_components_say_what_halves_the_interval(shared: Path) -> None:
    components = {"task": 0.15, "injection": 0.005, "interaction": 0.02, "attacked_rerun": 0.07}
    found = plan(tasks=97, injections=10, survival=0.55, components=components, half_width=0.06)
    assert found.design_half_width is not None
    assert float(found.design_half_width) == pytest.approx(oracle(shared, "crossed halfwidth of a level"), abs=5e-7)
    by_factor = {halving.factor: halving for halving in found.halving}
    for factor, kind in (
        ("attacked_epochs", "same, 4x seeds"), ("tasks", "same, 4x tasks"), ("tasks+injections", "same, 4x tasks and 4x injections"),
    ):
        shown = by_factor[factor].half_width_at_four_times  # type: ignore[index]
        assert shown is not None
        assert float(shown) == pytest.approx(oracle(shared, kind), abs=5e-7)
    assert by_factor["injections"].times is None
    assert by_factor["attacked_epochs"].reason == "no multiple of it is enough: other sources of spread are left"
    needed = {need.factor: need for need in found.for_half_width_by_factor}
    assert needed["attacked_epochs"].size is None
    assert needed["tasks"].size is not None
    again = plan(tasks=needed["tasks"].size, injections=10, survival=0.55, components=components)
    fewer = plan(tasks=needed["tasks"].size - 1, injections=10, survival=0.55, components=components)
    assert again.design_half_width is not None
    assert fewer.design_half_width is not None
    assert float(again.design_half_width) <= 0.06 < float(fewer.design_half_width)


def test_episodes_calls_hours_and_cost() -> None:
    """AgentDojo's 949 cells, five benign epochs and a baseline: 2383 episodes."""
    suite = PlannedSuite("sha256:" + "0" * 64, 97, 35, 949)
    found = plan(suite, survival=0.5, benign_epochs=5, seconds_per_call={"low": 2, "high": 6}, price_per_call={"low": 0.01, "high": 0.02})
    assert isinstance(found.effort, Effort)
    assert found.effort.episodes == 97 * 5 + 949 * 2 == 2383
    assert (found.effort.model_calls.low, found.effort.model_calls.high) == ("11915.000000", "35745.000000")
    assert found.effort.hours.low == f"{11915 * 2 / 3600:.6f}"  # type: ignore[union-attr]
    assert found.effort.cost.high == f"{35745 * 0.02:.6f}"  # type: ignore[union-attr]
    assert isinstance(found.effort_for_halving, Effort)
    assert found.effort_for_halving.episodes == 4 * 2383


def test_what_is_not_known_is_said_not_guessed() -> None:
    found = plan(tasks=100, survival=0.5)
    assert isinstance(found.effort, NoRange)
    priced = plan(tasks=100, injections=5, survival=0.5)
    assert isinstance(priced.effort, Effort)
    assert isinstance(priced.effort.hours, NoRange)
    assert isinstance(priced.effort.cost, NoRange)
    assert any("utility under attack of all tasks" in line for line in found.assumptions)


def test_a_suite_gives_the_sizes_and_given_ones_win() -> None:
    value = manifest([item("t0", "a"), item("t1", "a"), item("t2", "b")], [item("i0", "a"), item("i1", "b")])
    suite, digest = read(value)
    sizes = PlannedSuite.of(Plan(suite), digest)
    assert (sizes.tasks, sizes.injections, sizes.cells) == (3, 2, 3)
    assert plan(sizes, survival=0.5).basis.cells == 3
    assert plan(sizes, survival=0.5, tasks=30).basis.cells == 60


def test_a_rate_without_width_claims_nothing() -> None:
    found = plan(tasks=50, survival=1.0, clean_rate=1.0)
    assert found.utility.half_width == "0.000000"
    assert found.for_halving is None
    assert any("a real interval has one" in line for line in found.assumptions)


@pytest.mark.parametrize(
    ("asked", "pointer", "words"),
    [
        ({"tasks": 200, "clean_rate": 71, "survival": 0.55}, "/clean_rate", "at most 1"),
        ({"tasks": 200, "clean_rate": 0.71, "survival": -0.1}, "/survival", "at least 0"),
        ({"tasks": 200, "survival": "0.55"}, "/survival", "expected a number"),
        ({"tasks": 200, "survival": True}, "/survival", "expected a number"),
        ({"tasks": 0, "survival": 0.5}, "/tasks", "at least 1"),
        ({"tasks": 2.5, "survival": 0.5}, "/tasks", "expected an integer"),
        ({"survival": 0.5}, "/tasks", "a number of tasks, a suite or a pilot"),
        ({"tasks": 200}, "/survival", "expected survival"),
        ({"tasks": 200, "clean_rate": 0.0, "survival": 0.5}, "/clean_rate", "leaves at least one"),
        ({"tasks": 200, "clean_rate": 0.001, "survival": 0.5}, "/clean_rate", "leaves at least one"),
        ({"tasks": 200, "survival": 0.5, "half_width": 0}, "/half_width", "expected at least 0.0"),
        ({"tasks": 200, "survival": 0.5, "half_width": 1}, "/half_width", "less than 1"),
        ({"tasks": 200, "survival": 0.5, "difference": 0.3, "discordance": 0.2}, "", "at most the discordance"),
        ({"tasks": 200, "survival": 0.5, "difference": 0.9}, "/difference", "at most the discordance"),
        ({"tasks": 200, "survival": 0.5, "power": 1.0}, "/power", "less than 1"),
        ({"tasks": 200, "survival": 0.5, "deff": 0}, "/deff", "expected at least 0.0"),
        ({"tasks": 20, "injections": 5, "cells": 101, "survival": 0.5}, "/cells", "at most 20 tasks × 5 injections = 100"),
        ({"tasks": 20, "survival": 0.5, "price_per_call": {"low": 2, "high": 1}}, "/price_per_call", "low up to high"),
        ({"tasks": 20, "survival": 0.5, "components": {"task": 0, "injection": 0, "interaction": 0, "attacked_rerun": 0}}, "/components", "some component above 0"),
        ({"tasks": 20, "survival": 0.5, "seeds": 3}, "/seeds", "unknown"),
    ],
)
def test_impossible_plans_are_refused_at_their_place(asked: dict[str, Any], pointer: str, words: str) -> None:
    with pytest.raises(Malformed) as refused:
        plan(**asked)
    assert refused.value.pointer == pointer
    assert words in str(refused.value)
    assert refused.value.remedy


def test_a_number_that_is_not_one_is_refused() -> None:
    with pytest.raises(Malformed, match="NaN"):
        read_document(PlanRequest, b'{"tasks": 200, "survival": NaN}')


# pilots


def test_a_pilot_fills_what_is_not_given() -> None:
    pair = certified(World.of(tasks=40, injections=14, epochs=1), "P")
    facts = pilot_facts(pair)
    assert facts.suite.tasks == 40
    assert facts.clean_rate == Fraction(4, 5)
    rows = pair.experiment.attacked.ledger
    clean = dict(pair.experiment.benign.ledger.select("task_id", "utility").iter_rows())
    kept = [row for row in rows.iter_rows(named=True) if clean[row["task_id"]]]
    assert facts.survival == Fraction(sum(row["utility"] for row in kept), len(kept))
    flips = sum(row["utility"] != clean[row["task_id"]] for row in rows.iter_rows(named=True))
    assert facts.discordance == Fraction(flips, rows.height)
    found = plan_evaluation(PlanRequest(difference=0.1), None, facts)
    assert found.basis.pilot == "P"
    assert found.clean_tasks == 32
    assert len(found.for_difference) == 1
    assert found.power is not None
    seeds = next(halving for halving in found.halving if halving.factor == "attacked_epochs")
    assert seeds.reason == "the pilot has one epoch, which cannot tell reruns from pairings"
    over = plan_evaluation(PlanRequest(survival=0.25, tasks=400), None, facts)
    assert (over.basis.survival.fraction, over.basis.tasks, over.clean_tasks) == ("1/4", 400, 320)


def test_a_pilot_with_durations_gives_hours() -> None:
    world = World().set("benign", duration_ms=30_000).set("attacked", duration_ms=60_000)
    facts = pilot_facts(certified(world, "P"))
    assert facts.seconds_per_episode == (30.0, 60.0)
    found = plan_evaluation(PlanRequest(), None, facts)
    assert isinstance(found.effort, Effort)
    assert found.effort.hours.high == f"{found.effort.episodes * 60 / 3600:.6f}"  # type: ignore[union-attr]


def test_components_of_a_table_by_hand() -> None:
    """One group, 3 tasks by 2 injections: the textbook's mean squares."""
    table = np.array([[1, 1], [1, 0], [0, 0]])
    task, injection = np.divmod(np.arange(6), 2)
    found = estimate_components(table.ravel(), np.ones(6, dtype=np.int64), Crossing.of(task, injection, np.zeros(6, dtype=np.int64)))
    assert found is not None
    mean, rows, columns = table.mean(), table.mean(axis=1), table.mean(axis=0)
    error = ((table - rows[:, None] - columns + mean) ** 2).sum() / 2
    assert found.task == pytest.approx((2 * ((rows - mean) ** 2).sum() / 2 - error) / 2)
    assert found.injection == pytest.approx(max(0.0, (3 * ((columns - mean) ** 2).sum() / 1 - error) / 3))
    assert found.interaction == pytest.approx(error)
    assert found.rerun is None


def test_components_are_recovered_from_many_cells() -> None:
    """Uniform skill of variance 1/12 for tasks, an injection effect of known spread, and binomial reruns."""
    random = np.random.default_rng(7)
    tasks, injections, epochs = 400, 40, 4
    skill = random.uniform(0.3, 0.7, tasks)
    strength = random.uniform(-0.2, 0.2, injections)
    chance = skill[:, None] + strength[None, :]
    task, injection = (axis.ravel() for axis in np.meshgrid(np.arange(tasks), np.arange(injections), indexing="ij"))
    successes = random.binomial(epochs, chance.ravel())
    found = estimate_components(successes, np.full(tasks * injections, epochs), Crossing.of(task, injection, np.zeros(tasks * injections, dtype=np.int64)))
    assert found is not None
    assert found.task == pytest.approx(0.16 / 12, rel=0.15)
    assert found.injection == pytest.approx(float(strength.var(ddof=1)), rel=0.1)
    assert found.interaction == pytest.approx(0.0, abs=0.003)
    assert found.rerun == pytest.approx(float((chance * (1 - chance)).mean()), rel=0.02)


def test_components_need_two_complete_tasks_and_two_injections() -> None:
    def estimate(task: list[int], injection: list[int]) -> object:
        ones = np.ones(len(task), dtype=np.int64)
        return estimate_components(ones, ones, Crossing.of(task, injection, np.zeros(len(task), dtype=np.int64)))

    assert estimate([0, 1, 2], [0, 0, 0]) is None
    assert estimate([0, 0], [0, 1]) is None
    assert estimate([0, 0, 1], [0, 1, 0]) is None
    assert rerun_variance([1, 0], [1, 1]) is None
    assert rerun_variance([1, 2], [2, 2]) == pytest.approx(0.25)


def _between(low: float, high: float) -> st.SearchStrategy[float]:
    return st.sampled_from([low, high]) | st.floats(low, high)


_SIZES = st.sampled_from([1, 2, 10_000_000]) | st.integers(1, 10_000_000)
_EPOCHS = st.sampled_from([1, 100_000]) | st.integers(1, 100_000)
_RATES = st.sampled_from([1e-300, 1 - 1e-9]) | _between(0.0, 1.0)
_SPANS = st.tuples(_between(0.0, 1e9), _between(0.0, 1e9)).map(sorted).map(lambda ends: {"low": ends[0], "high": ends[1]})
_COMPONENTS = st.fixed_dictionaries(
    dict.fromkeys(("task", "injection", "interaction", "attacked_rerun"), st.sampled_from([1e-300, 1e-12]) | _between(0.0, 1.0))
)


@given(
    st.fixed_dictionaries(
        {"tasks": _SIZES, "survival": _RATES},
        optional={
            "injections": _SIZES, "cells": _SIZES, "clean_rate": _RATES, "deff": _between(1e-3, 1e4), "components": _COMPONENTS,
            "benign_epochs": _EPOCHS, "attacked_epochs": _EPOCHS, "baseline_epochs": _EPOCHS, "half_width": _between(1e-4, 0.999),
            "difference": _between(1e-4, 1.0), "discordance": _RATES, "power": _between(0.5, 1 - 1e-16),
            "calls_per_episode": _SPANS, "seconds_per_call": _SPANS, "price_per_call": _SPANS,
        },
    )
)  # fmt: skip
def test_whatever_is_asked_is_planned_or_refused_by_name(asked: dict[str, Any]) -> None:
    with suppress(Malformed):
        assert plan(**asked).utility.tasks >= 1


@pytest.mark.parametrize("size", [{"injections": 0, "cells": 0}, {"injections": 3, "cells": 0}])
def test_a_suite_without_attacked_cells_is_refused(size: dict[str, int]) -> None:
    with pytest.raises(Malformed, match="expected a suite with attacked cells") as refused:
        plan_evaluation(PlanRequest(suite="shop", survival=0.5), PlannedSuite(digest=f"sha256:{'0' * 64}", tasks=10, **size), None)
    assert refused.value.pointer == "/suite"


@pytest.mark.parametrize(
    ("tasks", "injections", "spread"),
    [(4, 1, (0.15, 0.1, 0.05, 0)), (10, 8, (0.05, 0.1, 0.1, 0.1))],
)
def test_what_rounding_leaves_is_nothing(tasks: int, injections: int, spread: tuple[float, ...]) -> None:
    """The tasks' share is exactly the quarter of the variance that may be left, so that no number of injections halves the width."""
    components = dict(zip(("task", "injection", "interaction", "attacked_rerun"), spread, strict=True))
    found = plan(tasks=tasks, injections=injections, survival=0.5, components=components)
    halving = {each.factor: each for each in found.halving}
    assert (halving["injections"].times, halving["injections"].size) == (None, None)
    assert halving["injections"].reason == OTHERS_LEFT


def test_a_difference_takes_a_task_at_least() -> None:
    assert planning.paired_tasks(0.5, 0.5, deff=1e-9) == 1

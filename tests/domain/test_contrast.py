"""Utilities of a pair, held against sums of fractions over episodes."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairmark.domain.contrast import contrast_of
from pairmark.domain.evidence import Experiment
from pairmark.domain.pairing import Pairing
from pairmark.domain.world import World

ASSESSED = ["completed", "agent_limit", "provider_block"]


def by_hand(experiment: Experiment) -> tuple[Fraction, Fraction, int] | None:
    """Benign utility, utility under attack and contributing tasks, episode by episode."""
    groups = {task.id: task.group for task in experiment.suite.tasks}
    values: list[dict[tuple[str, str | None], list[bool]]] = []
    for arm in (experiment.benign, experiment.attacked):
        found: dict[tuple[str, str | None], list[bool]] = {}
        for each in arm.ledger.iter_rows(named=True):
            if each["status"] in ASSESSED and each["utility"] is not None:
                found.setdefault((each["task_id"], each["injection_id"]), []).append(each["utility"])
        values.append(found)
    benign = {task: Fraction(sum(outcomes), len(outcomes)) for (task, _), outcomes in values[0].items()}
    attacked = {
        cell: Fraction(sum(outcomes), len(outcomes)) for cell, outcomes in values[1].items() if cell[0] in benign
    }
    if not attacked:
        return None
    tasks = sorted({task for task, _ in attacked})
    per_task = {task: sum(each == task for each, _ in attacked) for task in tasks}
    in_group = {group: sum(groups[each] == group for each, _ in attacked) for group in {groups[task] for task in tasks}}
    weights = {
        "task": {cell: Fraction(1, len(tasks) * per_task[cell[0]]) for cell in attacked},
        "cell": {cell: Fraction(1, len(attacked)) for cell in attacked},
        "group": {cell: Fraction(1, len(in_group) * in_group[groups[cell[0]]]) for cell in attacked},
    }[experiment.suite.weighting]
    assert sum(weights.values()) == 1
    return (
        sum((weights[cell] * benign[cell[0]] for cell in attacked), Fraction(0)),
        sum((weights[cell] * value for cell, value in attacked.items()), Fraction(0)),
        len(tasks),
    )


def spoilt(weighting: str, epochs: int, aborted: int, blocked: int, benign_aborted: int) -> World:
    world = World.of(tasks=7, injections=5, groups=2).epochs(epochs).edit_suite("/weighting", weighting)
    at = pl.int_range(pl.len())
    world = world.set("attacked", at % 9 < blocked, status="provider_block", utility=False, attack_success=None)
    return world.abort("attacked", at % 11 < aborted).abort("benign", at % 7 < benign_aborted)


@settings(max_examples=80)
@given(
    st.sampled_from(["task", "cell", "group"]),
    st.integers(1, 3),
    st.integers(0, 11),
    st.integers(0, 9),
    st.integers(0, 7),
)
def test_utilities_are_the_same_weights_in_both_arms(
    weighting: str, epochs: int, aborted: int, blocked: int, benign_aborted: int
) -> None:
    experiment = spoilt(weighting, epochs, aborted, blocked, benign_aborted).experiment()
    contrast, expected = contrast_of(Pairing(experiment)), by_hand(experiment)
    if expected is None:
        assert contrast is None
    else:
        assert contrast is not None
        assert (contrast.benign, contrast.attacked, contrast.tasks) == expected
        assert contrast.drop == expected[0] - expected[1]


@pytest.mark.parametrize(
    "nothing",
    [
        World().abort("attacked"),
        World().abort("benign"),
        World().drop_cells("benign"),
        World().set("attacked", utility=None),
    ],
)
def test_nothing_assessed_in_an_arm_leaves_nothing(nothing: World) -> None:
    assert contrast_of(Pairing(nothing.experiment())) is None


def test_a_task_without_a_benign_value_leaves_both_arms() -> None:
    experiment = World().abort("benign", pl.col("task_id") == "task_003").experiment()
    contrast = contrast_of(Pairing(experiment))
    assert contrast is not None
    assert contrast.tasks == 19
    assert contrast.benign == Fraction(15, 19)
    assert Pairing(experiment).tasks_left_out == 1


def test_cells_outside_the_plan_count_nowhere() -> None:
    world = World().repeat("attacked", 50, task_id="task_900", utility=True).repeat("pair", 10, epoch=9, utility=True)
    plain, with_more = (contrast_of(Pairing(each.experiment())) for each in (World(), world))
    assert plain is not None
    assert with_more is not None
    assert (plain.benign, plain.attacked) == (with_more.benign, with_more.attacked)


@pytest.mark.parametrize(
    ("injections", "name", "flags"),
    [(15, "tasks+injections", ()), (8, "tasks+injections", ("few-injections",)), (7, "these-injections", ())],
)
def test_the_scope_is_of_the_observed_cells(injections: int, name: str, flags: tuple[str, ...]) -> None:
    contrast = contrast_of(Pairing(World.of(injections=injections, groups=1).experiment()))
    assert contrast is not None
    assert (contrast.scope.name, contrast.scope.flags) == (name, flags)
    world = World.of(injections=15, groups=1).abort("attacked", pl.col("injection_id") >= f"inj_{injections:02d}")
    observed = contrast_of(Pairing(world.experiment()))
    assert observed is not None
    assert (observed.scope.name, observed.scope.flags) == (name, flags)

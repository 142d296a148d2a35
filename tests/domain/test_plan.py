"""What a manifest plans."""

from __future__ import annotations

from typing import Any

import pytest

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.plan import Plan
from pairmark.domain.world_parts import suite_value


def plan(changes: dict[str, Any] | None = None, **size: int) -> Plan:
    value = suite_value(**{"tasks": 4, "injections": 4, "groups": 2, "epochs": 1, **size})
    return Plan(SuiteManifest.model_validate_json(canonical_bytes({**value, **(changes or {})})))


def cells(of: Plan) -> list[tuple[int, int]]:
    return list(zip(of.cell_task.tolist(), of.cell_injection.tolist(), strict=True))


def test_full_is_every_task_with_every_injection_of_its_own_group() -> None:
    assert cells(plan()) == [(0, 0), (0, 2), (1, 1), (1, 3), (2, 0), (2, 2), (3, 1), (3, 3)]
    assert plan().cells == 8
    assert plan().tasks == 4


def test_a_group_without_injections_plans_no_attack_on_its_tasks() -> None:
    assert cells(plan(injections=1)) == [(0, 0), (2, 0)]


def test_a_manifest_without_injections_plans_no_attack_at_all() -> None:
    empty = plan({"injections": []})
    assert (empty.cells, empty.tasks) == (0, 4)
    assert empty.attacked_cell_of(empty.task_group, empty.task_group).tolist() == [-1] * 4


def test_an_empty_grid_too() -> None:
    assert plan({"grid": []}).cells == 0


def test_a_listed_grid_is_taken_in_order_of_codes_and_may_cross_groups() -> None:
    grid = [
        {"task": "task_003", "injection": "inj_00"},
        {"task": "task_000", "injection": "inj_03"},
        {"task": "task_000", "injection": "inj_01"},
    ]
    assert cells(plan({"grid": grid})) == [(0, 1), (0, 3), (3, 0)]


def test_groups_stand_in_order_of_first_appearance() -> None:
    assert plan().groups == ("g0", "g1")
    assert plan().task_group.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("grid", "why"),
    [
        ([{"task": "task_900", "injection": "inj_00"}], "listed tasks and injections"),
        ([{"task": "task_000", "injection": "inj_900"}], "listed tasks and injections"),
        ([{"task": "task_000", "injection": "inj_00"}] * 2, "each grid cell once"),
        ("some", "grid"),
    ],
)
def test_a_grid_that_plans_nonsense_is_refused(grid: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        plan({"grid": grid})

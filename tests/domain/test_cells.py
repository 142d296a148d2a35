"""Cell tables, held against a plain reference that walks rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairmark.domain import cells as cells_module
from pairmark.domain import plan as plan_module
from pairmark.domain.canonical import canonical_bytes, suite_digest
from pairmark.domain.cells import cell_table
from pairmark.domain.documents.episode import ABORTED, STATUSES
from pairmark.domain.documents.run import Run
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.episodes import frame_of
from pairmark.domain.evidence import NO_INJECTION, Arm, Experiment, Role
from pairmark.domain.plan import Plan
from pairmark.domain.world import World
from pairmark.domain.world_parts import run_value, suite_value

TASKS = ["task_000", "task_001", "task_002", "task_900", "Task_000", "zz 字", "\U00010000", "\uffff"]
INJECTIONS = ["inj_00", "inj_01", "inj_02", "inj_900", None]


def suite(groups: int) -> dict[str, Any]:
    value = suite_value(3, 3, groups, 1)
    value["tasks"].append({**value["tasks"][0], "id": "\uffff"})
    return value


def arm_of(role: Role, rows: list[dict[str, Any]], epochs: list[int], manifest: dict[str, Any]) -> Arm:
    value = run_value(role, manifest, 1)
    value["epochs"] = [{"epoch": number, "seed": None} for number in epochs]
    return Arm(
        role,
        Run.model_validate_json(canonical_bytes(value)),
        suite_digest(manifest),
        frame_of(rows),
        suite_digest(manifest),
    )


def row(**values: Any) -> dict[str, Any]:
    return {"task_id": "task_000", "injection_id": "inj_00", "epoch": 1, "status": "completed", **values}


rows_of_ledgers = st.lists(
    st.builds(
        row,
        task_id=st.sampled_from(TASKS),
        injection_id=st.sampled_from(INJECTIONS),
        epoch=st.sampled_from([1, 2, 3, 2**53 - 1]),
        status=st.sampled_from(STATUSES),
        utility=st.sampled_from([True, False, None]),
        attack_success=st.sampled_from([True, False, None]),
        delivered=st.sampled_from([True, False, None]),
        attacker_actions=st.sampled_from([None, 0, 1, 7]),
        attempt=st.sampled_from([None, 1, 2, 3]),
    ),
    max_size=14,
)
epoch_lists = st.lists(st.sampled_from([1, 2, 3, 2**53 - 1]), unique=True, max_size=4)


def signed(value: bool | None) -> int:
    return -1 if value is None else int(value)


def reference(
    role: Role, rows: list[dict[str, Any]], epochs: list[int], manifest: SuiteManifest
) -> list[dict[str, Any]]:
    """One entry per cell, in canonical order, from the definitions."""
    tasks = {task.id: (at, task.group) for at, task in enumerate(manifest.tasks)}
    injections = {injection.id: (at, injection.group) for at, injection in enumerate(manifest.injections)}
    pairs = [
        (t, i)
        for _, (t, mine) in sorted(tasks.items(), key=lambda each: each[1][0])
        for _, (i, theirs) in sorted(injections.items(), key=lambda each: each[1][0])
        if mine == theirs
    ]
    groups: dict[Any, list[dict[str, Any]]] = {}
    for each in rows:
        groups.setdefault((each["task_id"], each["injection_id"], each["epoch"]), []).append(
            {**each, "attempt": each.get("attempt") or 1}
        )
    found = []
    at = 0
    for key in sorted(groups, key=lambda key: (key[0], key[1] is not None, key[1] or "", key[2])):
        attempts = sorted(groups[key], key=lambda each: each["attempt"])
        last = attempts[-1]
        t = tasks.get(key[0], (-1, ""))[0]
        i = NO_INJECTION if key[1] is None else injections.get(key[1], (-1, ""))[0]
        planned = (
            (t if i == NO_INJECTION else -1) if role == "benign" else (pairs.index((t, i)) if (t, i) in pairs else -1)
        )
        at += len(attempts)
        found.append(
            {
                "task": t,
                "injection": i,
                "planned": planned,
                "epoch": key[2],
                "epoch_index": epochs.index(key[2]) if key[2] in epochs else -1,
                "row": at - 1,
                "status": STATUSES.index(last["status"]),
                "utility": signed(last["utility"] and last["status"] != "provider_block"),
                "attack_success": signed(last["attack_success"]),
                "delivered": signed(last["delivered"]),
                "attacker_actions": -1 if last["attacker_actions"] is None else last["attacker_actions"],
                "lines": len(attempts),
                "repeated": len({each["attempt"] for each in attempts}) < len(attempts),
            }
        )
    return found


@pytest.mark.parametrize("dense", [4_000_000, 0])
@settings(max_examples=60)
@given(
    role=st.sampled_from(["benign", "attacked", "baseline"]),
    rows=rows_of_ledgers,
    epochs=epoch_lists,
    groups=st.integers(1, 3),
)
def test_a_table_is_what_the_definitions_say(
    dense: int, role: Role, rows: list[dict[str, Any]], epochs: list[int], groups: int
) -> None:
    value = suite(groups)
    manifest = SuiteManifest.model_validate_json(canonical_bytes(value))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_module, "DENSE_LIMIT", dense)
        patch.setattr(cells_module, "DENSE_LIMIT", dense)
        table = cell_table(arm_of(role, rows, epochs, value), Plan(manifest))
    expected = reference(role, rows, epochs, manifest)
    assert len(table) == len(expected)
    for name in (
        "task",
        "injection",
        "planned",
        "epoch",
        "epoch_index",
        "row",
        "status",
        "utility",
        "attack_success",
        "delivered",
        "attacker_actions",
        "lines",
        "repeated",
    ):
        assert getattr(table, name).tolist() == [each[name] for each in expected], name
    for at, each in enumerate(expected):
        aborted = STATUSES[each["status"]] in ABORTED
        assert table.aborted[at] == aborted
        assert table.assessed[at] == (not aborted)
        assert table.expected[at] == (each["planned"] >= 0 and each["epoch_index"] >= 0)
        assert table.action[at] == (not aborted and (each["attacker_actions"] > 0 or each["attack_success"] == 1))


def test_ids_that_the_manifest_does_not_list_are_different_cells() -> None:
    rows = [
        row(task_id="unknown a"),
        row(task_id="unknown b"),
        row(injection_id="unknown c"),
        row(injection_id="unknown d"),
    ]
    value = suite(1)
    table = cell_table(
        arm_of("attacked", rows, [1], value), Plan(SuiteManifest.model_validate_json(canonical_bytes(value)))
    )
    assert len(table) == 4
    assert not table.repeated.any()


def test_an_arm_of_another_experiment_has_no_cells_in_this_one() -> None:
    experiment, other = World().experiment(), World().experiment()
    with pytest.raises(ValueError, match="expected an arm of this experiment"):
        experiment.cells_of(other.benign)
    for arm in experiment.arms:
        assert len(experiment.cells_of(arm)) == arm.ledger.height


class TestBaseline:
    def test_a_given_one_is_the_baseline(self) -> None:
        experiment = World().experiment()
        assert experiment.baseline is experiment.given_baseline
        assert len(experiment.arms) == 3

    def test_an_undefended_attacked_run_is_its_own(self) -> None:
        experiment = World().undefended().experiment()
        assert experiment.baseline is experiment.attacked
        assert experiment.baseline_cells is experiment.attacked_cells
        assert len(experiment.arms) == 2

    @pytest.mark.parametrize("defenses", [None, [{"name": "x", "version": None}]])
    def test_a_defended_or_unrecorded_one_is_not(self, defenses: Any) -> None:
        experiment = World().undefended().edit_run("attacked", "/system/defenses", defenses).experiment()
        assert experiment.baseline is None
        assert experiment.baseline_cells is None

    def test_a_given_one_is_taken_even_where_the_attacked_run_is_undefended(self) -> None:
        experiment: Experiment = World().undefended().as_baseline("attacked").experiment()
        assert experiment.baseline is experiment.given_baseline


def test_a_large_plan_is_looked_up_the_same_through_a_table_and_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = SuiteManifest.model_validate_json(canonical_bytes(suite_value(200, 40, 3, 1)))
    task, injection = (axis.ravel() for axis in np.meshgrid(np.arange(-1, 200), np.arange(-2, 40), indexing="ij"))
    by_table = Plan(manifest).attacked_cell_of(task, injection)
    monkeypatch.setattr(plan_module, "DENSE_LIMIT", 0)
    plan = Plan(manifest)
    by_search = plan.attacked_cell_of(task, injection)
    assert by_table.tolist() == by_search.tolist()
    planned = by_table >= 0
    assert int(planned.sum()) == plan.cells
    assert (plan.cell_task[by_table[planned]] == task[planned]).all()
    assert (plan.cell_injection[by_table[planned]] == injection[planned]).all()


def test_the_last_attempt_is_the_episode_even_where_lines_come_in_disorder() -> None:
    frame = (
        World()
        .abort("attacked", 1)
        .repeat("attacked", 1, attempt=2, status="completed", utility=True)
        .frame("attacked")
    )
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=3)
    assert frame_of(shuffled.iter_rows(named=True)).equals(frame.cast({"status": pl.Enum(STATUSES)}))

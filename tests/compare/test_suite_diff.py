"""Suite versions are compared item by item and cell by cell."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pairmark.domain.documents.suite_diff import SuiteDiff
from pairmark.domain.suite_diff import diff_suites
from tests.compare.suites import item, manifest, read


def diff(left: dict[str, Any], right: dict[str, Any]) -> SuiteDiff:
    return diff_suites(*read(left), *read(right))


def base() -> dict[str, Any]:
    return manifest([item(f"t{n}") for n in range(4)], [item(f"i{n}") for n in range(3)])


def test_a_changed_description_or_label_changes_nothing() -> None:
    other = {**base(), "version": "v2", "description": "reworded"}
    found = diff(base(), other)
    assert found.comparability == "same-mix"
    assert (found.attacked_cells.surviving, found.attacked_cells.changed) == (12, 0)
    assert found.settings == ()


def test_a_changed_prompt_takes_the_cells_of_its_task() -> None:
    other = base()
    other["tasks"][1] = item("t1", prompt="other")
    found = diff(base(), other)
    assert [(change.id, change.parts) for change in found.tasks.changed] == [("t1", ("prompt",))]
    cells = found.attacked_cells
    assert (cells.left, cells.right, cells.surviving, cells.changed, cells.added, cells.removed) == (12, 12, 9, 3, 0, 0)
    assert cells.changed_by["task prompt"] == 3
    assert cells.share_of_left is not None
    assert cells.share_of_left.fraction == "3/4"
    assert found.comparability == "common-mix"


def test_a_changed_injection_checker_takes_its_column_and_no_benign_cell() -> None:
    other = base()
    other["injections"][2] = item("i2", checker="other")
    found = diff(base(), other)
    assert found.injections.changed[0].parts == ("checker",)
    assert found.attacked_cells.changed == 4
    assert found.benign_cells.changed == 0


def test_a_changed_environment_takes_every_cell() -> None:
    found = diff(base(), {**base(), "environment": manifest([], [], environment="other")["environment"]})
    assert found.attacked_cells.surviving == 0
    assert found.attacked_cells.changed_by["environment"] == 12
    assert found.comparability == "none"
    assert [change.setting for change in found.settings] == ["environment.digest"]


def test_tools_are_reported_by_name_and_leave_cells_common() -> None:
    found = diff(
        {**base(), "tools": manifest([], [], tools={"send": "a", "read": "r"})["tools"]},
        {**base(), "tools": manifest([], [], tools={"send": "b", "list": "l"})["tools"]},
    )
    assert (found.tools.changed, found.tools.added, found.tools.removed, found.tools.same) == (
        ("send",), ("list",), ("read",), 0,
    )
    assert found.attacked_cells.surviving == 12
    assert any("tools changed" in note for note in found.notes)


def test_settings_that_differ_are_named() -> None:
    grid = [{"task": "t0", "injection": "i0"}]
    found = diff(base(), {**base(), "grid": grid, "epochs": 2, "weighting": "cell", "suite": "toy2"})
    assert {change.setting: (change.left, change.right) for change in found.settings} == {
        "suite": ("toy", "toy2"),
        "grid": ("full", "1 cells listed"),
        "epochs": ("1", "2"),
        "weighting": ("task", "cell"),
    }
    assert found.attacked_cells.removed == 11


def test_a_full_grid_and_the_same_grid_listed_differ_in_no_cell() -> None:
    left, right = base(), base()
    right["grid"] = [{"task": f"t{t}", "injection": f"i{i}"} for t in range(4) for i in range(3)]
    found = diff(left, right)
    assert found.attacked_cells.surviving == 12
    assert found.comparability == "common-mix"


def test_a_suite_without_injections_has_no_share() -> None:
    empty = {**base(), "injections": []}
    found = diff(empty, base())
    assert found.attacked_cells.share_of_left is None
    assert found.comparability == "none"
    assert found.benign_cells.surviving == 4


def test_a_task_in_another_group_is_named() -> None:
    left, right = base(), base()
    left["injections"].append(item("j", "h"))
    right["injections"].append(item("j", "h"))
    right["tasks"][0] = item("t0", "h")
    found = diff(left, right)
    assert found.tasks.changed[0].parts == ("group",)
    assert (found.attacked_cells.surviving, found.attacked_cells.removed, found.attacked_cells.added) == (9, 3, 1)


def test_it_says_why_the_surviving_cells_could_not_stand_for_both() -> None:
    def groups(a: int, b: int, prompt: str = "", weighting: str = "task") -> dict[str, Any]:
        tasks = [*(item(f"a{n}", "a") for n in range(a)), *(item(f"b{n}", "b", prompt=prompt if n >= 4 else "") for n in range(b))]
        return manifest(tasks, [item("x", "a"), item("y", "b")], weighting=weighting)

    assert diff(groups(20, 20), groups(20, 20)).common_mix_refusal is None
    few = diff(groups(20, 20), groups(20, 20, "new"))
    assert few.common_mix_refusal == "left side, group b: needs at least 5 tasks, found 4"
    assert diff(groups(20, 20), groups(20, 20, weighting="cell")).common_mix_refusal == "the weightings differ"
    assert diff(groups(20, 20), groups(20, 22)).common_mix_refusal is None


ids = st.lists(st.integers(0, 6), unique=True, min_size=1, max_size=5)
items = ids.flatmap(
    lambda numbers: st.tuples(*(st.tuples(st.just(n), st.sampled_from("ab"), st.sampled_from("ab"), st.sampled_from("gh")) for n in numbers))
)


@given(items, items, items, items, st.booleans(), st.sampled_from(("task", "cell", "group")))
def test_counts_are_those_of_plain_sets(left_tasks: Any, left_inj: Any, right_tasks: Any, right_inj: Any, same_env: bool, weighting: str) -> None:
    def build(tasks: Any, injections: Any, environment: str) -> dict[str, Any]:
        return manifest(
            [item(f"t{n}", g, prompt=p, checker=c) for n, p, c, g in tasks],
            [item(f"i{n}", g, prompt=p, checker=c) for n, p, c, g in injections],
            environment=environment, weighting=weighting,
        )

    left, right = build(left_tasks, left_inj, "e"), build(right_tasks, right_inj, "e" if same_env else "f")

    def cells(value: dict[str, Any]) -> dict[tuple[str, str], tuple[str, ...]]:
        return {
            (t["id"], i["id"]): (t["digest"], t["checker"], i["digest"], i["checker"], value["environment"]["digest"])
            for t in value["tasks"] for i in value["injections"] if t["group"] == i["group"]
        }

    before, after = cells(left), cells(right)
    common = {key for key in before if after.get(key) == before[key]}
    found = diff(left, right).attacked_cells
    assert found.surviving == len(common)
    assert found.changed == len(before.keys() & after.keys()) - len(common)
    assert found.added == len(after.keys() - before.keys())
    assert found.removed == len(before.keys() - after.keys())
    assert found.surviving + found.changed + found.removed == found.left
    assert found.surviving + found.changed + found.added == found.right
    back = diff(right, left).attacked_cells
    assert (back.surviving, back.changed, back.added, back.removed) == (found.surviving, found.changed, found.removed, found.added)
    if before and weighting == "cell":
        assert found.share_of_left is not None
        assert Fraction(found.share_of_left.fraction) == Fraction(len(common), len(before))

"""AgentDojo v1.1.2 to v1.2.2: what changed, counted twice more, from the manifests' plain JSON and from the package itself."""

from __future__ import annotations

import inspect
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.documents.suite_diff import SuiteDiff
from pairmark.domain.suite_diff import diff_suites
from tests.compare.suites import read

# left, right, surviving, changed, added, removed attacked cells
CELLS = {
    "banking": (144, 144, 15, 129, 0, 0),
    "slack": (105, 105, 95, 10, 0, 0),
    "travel": (140, 140, 114, 26, 0, 0),
    "workspace": (240, 560, 180, 60, 320, 0),
}


def manifest(repository: Path, suite: str, version: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((repository / "manifests" / "suites" / f"agentdojo-{suite}-{version}.json").read_bytes())
    return found


def diff(repository: Path, suite: str) -> SuiteDiff:
    return diff_suites(*read(manifest(repository, suite, "v1.1.2")), *read(manifest(repository, suite, "v1.2.2")))


@pytest.mark.parametrize("suite", CELLS)
def test_cells_are_those_counted_from_plain_json(repository: Path, suite: str) -> None:
    def cells(version: str) -> dict[tuple[str, str], tuple[str, ...]]:
        value = manifest(repository, suite, version)
        assert value["grid"] == "full"
        return {
            (t["id"], i["id"]): (t["digest"], t["checker"], i["digest"], i["checker"], value["environment"]["digest"])
            for t in value["tasks"] for i in value["injections"] if t["group"] == i["group"]
        }

    before, after = cells("v1.1.2"), cells("v1.2.2")
    both = before.keys() & after.keys()
    same = sum(before[cell] == after[cell] for cell in both)
    counted = (len(before), len(after), same, len(both) - same, len(after) - len(both), len(before) - len(both))
    found = diff(repository, suite).attacked_cells
    assert counted == CELLS[suite]
    assert (found.left, found.right, found.surviving, found.changed, found.added, found.removed) == counted


def test_in_all_629_cells_became_949_of_which_404_survive(repository: Path) -> None:
    found = [diff(repository, suite).attacked_cells for suite in CELLS]
    totals = [sum(getattr(cells, name) for cells in found) for name in ("left", "right", "surviving", "changed", "added", "removed")]
    assert totals == [629, 949, 404, 225, 320, 0]


def test_what_changed_is_named(repository: Path) -> None:
    found = {suite: diff(repository, suite) for suite in CELLS}
    changed = {
        suite: {change.id: change.parts for change in (*one.tasks.changed, *one.injections.changed)} for suite, one in found.items()
    }
    assert changed["slack"] == {"user_task_2": ("checker",), "user_task_11": ("prompt",)}
    assert changed["travel"] == {"user_task_1": ("checker",), "injection_task_2": ("prompt",)}
    assert changed["workspace"] == {
        "user_task_0": ("prompt", "checker"), "user_task_16": ("checker",), "user_task_17": ("checker",),
        "user_task_18": ("checker",), "injection_task_3": ("prompt", "checker"),
    }
    assert changed["banking"] == {"user_task_6": ("checker",)} | {f"injection_task_{n}": ("prompt",) for n in (0, 1, 2, 3, 4, 5, 6, 8)}
    assert found["workspace"].injections.added == tuple(f"injection_task_{n}" for n in range(6, 14))
    for one in found.values():
        assert (one.settings, one.tools.changed, one.tools.added, one.tools.removed) == ((), (), (), ())


def test_the_package_says_the_same(repository: Path) -> None:
    """Goals as text and checks as source, read off the installed harness."""
    pytest.importorskip("agentdojo", reason="the harness is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from agentdojo.task_suite.load_suites import get_suites

        versions = [get_suites(version) for version in ("v1.1.2", "v1.2.2")]

    def content(task: Any) -> tuple[object, ...]:
        checks = [inspect.getsource(getattr(type(task), name)) for name in ("utility", "security") if hasattr(type(task), name)]
        return (getattr(task, "PROMPT", None), getattr(task, "GOAL", None), *checks)

    for suite, expected in CELLS.items():
        tasks, injections = (
            [{name: content(task) for name, task in getattr(version[suite], kind).items()} for version in versions]
            for kind in ("user_tasks", "injection_tasks")
        )
        survive = [sum(there.get(name) == value for name, value in here.items()) for here, there in (tasks, injections)]
        assert survive[0] * survive[1] == expected[2]
        assert len(tasks[0]) * len(injections[0]) == expected[0]
        assert len(tasks[1]) * len(injections[1]) == expected[1]

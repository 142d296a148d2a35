"""A manifest observed in runs covers what they show, says what they do not, and refuses what disagrees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.agentdojo import export_from_runs
from pairmark.adapters.agentdojo.naming import natural_key
from pairmark.domain.canonical import digest_of, suite_digest
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed
from tests.importers.logs import ATTACK, PAYLOAD, PROMPT, asked, obeyed, put, record, returns, says


def runs(folder: Path, suites: tuple[str, ...] = ("bank",), **changed: Any) -> Path:
    for suite in suites:
        for task in (0, 2, 10):
            put(folder, record(f"user_task_{task}", suite=suite, **changed))
            for injection in (0, 1):
                put(folder, record(f"user_task_{task}", f"injection_task_{injection}", suite=suite, **changed))
        put(folder, record("injection_task_0", suite=suite, messages=[*asked("Send all to Eve."), says()], **changed))
    return folder


def refusal(*folders: Path) -> Malformed:
    with pytest.raises(Malformed) as caught:
        export_from_runs(folders, "x")
    return caught.value


def test_it_lists_tasks_and_injections_and_covers_prompts_and_goals(tmp_path: Path) -> None:
    found = export_from_runs([runs(tmp_path)], "mine/bank")
    read_document(SuiteManifest, json.dumps(found).encode())
    assert (found["suite"], found["version"], found["grid"], found["weighting"]) == (
        "mine/bank",
        "v1.2.2-observed",
        "full",
        "task",
    )
    assert [task["id"] for task in found["tasks"]] == ["user_task_0", "user_task_2", "user_task_10"]
    assert {task["digest"] for task in found["tasks"]} == {digest_of({"prompt": PROMPT})}
    assert [item["digest"] for item in found["injections"]] == [
        digest_of({"goal": "Send all to Eve."}),
        digest_of({"payload": PAYLOAD}),
    ]
    assert "probes" not in found
    assert "goals (1), else payloads (1), else ids (0)" in found["description"]
    assert found["source"]["package"] is None


def test_several_harness_suites_are_groups_with_qualified_ids(tmp_path: Path) -> None:
    found = export_from_runs([runs(tmp_path, ("shop", "bank"))], "both")
    assert [task["id"] for task in found["tasks"]][:4] == [
        "bank/user_task_0", "bank/user_task_2", "bank/user_task_10", "shop/user_task_0",
    ]  # fmt: skip
    assert {item["group"] for item in found["injections"]} == {"bank", "shop"}


def test_more_runs_of_the_same_suite_give_the_same_digest(tmp_path: Path) -> None:
    one = export_from_runs([runs(tmp_path / "a")], "x")
    two = export_from_runs([runs(tmp_path / "a"), runs(tmp_path / "b")], "x")
    assert suite_digest(one) == suite_digest(two)


def test_checks_and_environment_of_another_version_are_not_the_same(tmp_path: Path) -> None:
    old = export_from_runs([runs(tmp_path / "old", benchmark_version="v1.1")], "x")
    new = export_from_runs([runs(tmp_path / "new")], "x")
    assert old["tasks"][0]["digest"] == new["tasks"][0]["digest"]
    assert old["tasks"][0]["checker"] != new["tasks"][0]["checker"]
    assert old["environment"] != new["environment"]


def test_a_cell_that_no_run_holds_is_still_planned(tmp_path: Path) -> None:
    runs(tmp_path)
    (tmp_path / f"bank/user_task_2/{ATTACK}/injection_task_1.json").unlink()
    assert export_from_runs([tmp_path], "x")["grid"] == "full"


def test_an_injection_of_which_nothing_is_shown_is_covered_by_its_id(tmp_path: Path) -> None:
    put(tmp_path, record())
    put(tmp_path, record(injection="injection_task_7", leave_out=["injections"]))
    found = export_from_runs([tmp_path], "x")
    assert "else ids (1)" in found["description"]


def test_tools_are_those_that_answered(tmp_path: Path) -> None:
    gone = returns("", "delete_everything", error="Invalid tool delete_everything provided.")
    put(tmp_path, record(messages=[*obeyed()[:-1], gone, says()]))
    assert [tool["name"] for tool in export_from_runs([tmp_path], "x")["tools"]] == ["read_file", "send_money"]


def test_unreadable_and_misplaced_files_are_counted_not_used(tmp_path: Path) -> None:
    runs(tmp_path)
    put(tmp_path, b"{", "bank/user_task_5/none/none.json")
    put(tmp_path, record("user_task_0"), "bank/user_task_6/none/none.json")
    found = export_from_runs([tmp_path], "x")
    assert len(found["tasks"]) == 3
    assert found["description"].endswith("Unreadable files: 2.")


def test_two_versions_are_refused(tmp_path: Path) -> None:
    problem = refusal(runs(tmp_path / "a"), runs(tmp_path / "b", benchmark_version=None))
    assert problem.code == "mixed-benchmark-versions"
    assert "(unrecorded)" in problem.message


def test_two_prompts_of_one_task_are_refused(tmp_path: Path) -> None:
    runs(tmp_path / "a")
    put(tmp_path / "b", record(messages=[*asked("Something else."), says()]))
    assert refusal(tmp_path / "a", tmp_path / "b").code == "two-contents"


def test_folders_without_user_tasks_are_refused(tmp_path: Path) -> None:
    put(tmp_path, record("injection_task_0"))
    assert refusal(tmp_path).code == "no-records"


def test_ids_stand_in_the_order_people_count() -> None:
    names = ["user_task_10", "user_task_9", "user_task_1", "b2", "a", "user_task_01"]
    assert sorted(names, key=natural_key) == ["a", "b2", "user_task_01", "user_task_1", "user_task_9", "user_task_10"]

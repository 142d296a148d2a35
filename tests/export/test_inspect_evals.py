"""The agentdojo evaluation of inspect_evals: what is exported, against its own samples and against the logs of its runs."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.canonical import canonical_bytes, suite_digest
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.probe import ProbeDocument
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.documents.suite_diff import SuiteDiff
from pairmark.domain.errors import Malformed
from pairmark.domain.plan import Plan
from pairmark.domain.suite_diff import diff_suites
from tests.cli.running import Here
from tests.export.packages import change, copy_of, python

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("inspect_evals") is None, reason="the extra `inspect-evals` is not installed"
)
EXPORT = """
import json
from pairmark.adapters.inspect_evals import export_suite
print(json.dumps([export_suite([name], "no") for name in ("banking", "slack")]))
"""


def export(names: list[str], sandbox_tasks: str = "no") -> dict[str, Any]:
    from pairmark.adapters.inspect_evals import export_suite

    return export_suite(names, sandbox_tasks)


def model(manifest: dict[str, Any]) -> SuiteManifest:
    return read_document(SuiteManifest, canonical_bytes(manifest))[0]


@pytest.fixture(scope="module")
def banking() -> dict[str, Any]:
    return export(["banking"])


def cells_of(manifest: dict[str, Any]) -> set[tuple[str, str]]:
    plan = Plan(model(manifest))
    pairs = zip(plan.cell_task.tolist(), plan.cell_injection.tolist(), strict=True)
    return {(plan.task_ids[task], plan.injection_ids[injection]) for task, injection in pairs}


def test_a_suite_is_named_for_the_evaluation_and_labelled_with_its_version(banking: dict[str, Any]) -> None:
    assert (banking["suite"], banking["version"]) == ("inspect_evals/agentdojo/banking", "2-A")
    assert banking["source"] == {"harness": "inspect_ai", "package": "inspect_evals==0.26.0", "license": "MIT"}
    assert (len(banking["tasks"]), len(banking["injections"]), banking["grid"]) == (16, 9, "full")
    assert banking["tasks"][0]["tags"] == ["calls:2", "tools:2", "multi-hop", "tool:read_file", "tool:send_money"]
    assert "probes" not in banking


def test_all_is_what_the_evaluation_takes_by_default() -> None:
    whole = export(["all"], "yes")
    assert whole["suite"] == "inspect_evals/agentdojo/banking+slack+travel+workspace_plus"
    assert len(cells_of(whole)) == 1014  # the number that the evaluation states
    assert Counter(task["group"] for task in whole["tasks"]) == {
        "banking": 16, "slack": 20, "travel": 20, "workspace_plus": 42,
    }  # fmt: skip
    assert whole["tasks"][0]["id"] == "banking/user_task_0"
    assert {tool["name"] for tool in whole["tools"]} >= {"send_money", "run_bash_command", "get_webpage"}
    checkers = {item["id"]: item["checker"] for item in whole["tasks"]}
    assert len(set(checkers.values())) >= len(checkers) - 2  # two pairs of tasks share a check


def test_tasks_that_need_a_sandbox_are_chosen_as_the_evaluation_chooses() -> None:
    counts = {}
    for choice in ("yes", "no", "only"):
        found = export(["workspace_plus"], choice)
        counts[choice] = (len(found["tasks"]), len(found["injections"]), len(cells_of(found)))
        assert ("run_bash_command" in {tool["name"] for tool in found["tools"]}) == (choice != "no")
    assert counts == {"yes": (42, 15, 630), "no": (40, 14, 560), "only": (2, 1, 2)}


def shared_logs(shared: Path) -> tuple[Any, Any]:
    log = pytest.importorskip("inspect_ai.log")
    files = sorted((shared / "samples" / "inspect-agentdojo").glob("*.eval"))
    benign, attacked = (log.read_eval_log_sample_summaries(str(file)) for file in files)
    return benign, attacked


def test_cells_and_prompts_are_those_of_the_logs(banking: dict[str, Any], shared: Path) -> None:
    from pairmark.importers.agentdojo.episodes import task_digest

    benign, attacked = shared_logs(shared)
    planned = cells_of(banking)
    seen = Counter(
        (f"user_task_{one.metadata['task_id']}", f"injection_task_{one.metadata['injection_task_id']}")
        for one in attacked
    )
    assert set(seen) == planned
    assert set(seen.values()) == {2}  # epochs
    digests = {task["id"]: task["digest"] for task in banking["tasks"]}
    assert {f"user_task_{one.metadata['task_id']}": task_digest(one.input) for one in benign} == digests


@pytest.mark.parametrize("arm", ["benign", pytest.param("attacked", marks=pytest.mark.slow)])
def test_the_reader_of_logs_gives_the_manifests_cells(banking: dict[str, Any], shared: Path, arm: Any) -> None:
    from pairmark.importers.registry import importer_of

    try:
        importer = importer_of("inspect")
    except Malformed:
        pytest.skip("no importer of Inspect's logs is there")
    place = shared / "samples" / "inspect-agentdojo"
    file = sorted(place.glob("*.eval"))[0 if arm == "benign" else 1]
    found = importer.read([file], suite=model(banking), suite_digest=suite_digest(banking), arm=arm).episodes
    cells = {(row["task_id"], row["injection_id"]) for row in found.iter_rows(named=True)}
    assert cells == (cells_of(banking) if arm == "attacked" else {(task["id"], None) for task in banking["tasks"]})
    stated = dict(found.select("task_id", "task_digest").drop_nulls().iter_rows())
    assert stated.items() <= {task["id"]: task["digest"] for task in banking["tasks"]}.items()


@pytest.mark.parametrize(
    ("names", "choice", "code"),
    [
        (["office"], "yes", "unknown-suite"),
        (["workspace", "workspace_plus"], "yes", "usage"),
        (["banking", "banking"], "yes", "usage"),
        ([], "yes", "usage"),
        (["banking"], "maybe", "usage"),
        (["banking"], "only", "no-tasks"),
    ],
)
def test_what_the_evaluation_does_not_know_is_refused(names: list[str], choice: str, code: str) -> None:
    with pytest.raises(Malformed) as refused:
        export(names, choice)
    assert refused.value.code == code
    assert refused.value.remedy


def test_without_the_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "inspect_evals.agentdojo.dataset", None)
    with pytest.raises(Malformed, match="pip install") as refused:
        export(["banking"])
    assert refused.value.code == "missing-extra"


def test_the_command_writes_a_manifest(here: Here, tmp_path: Path, banking: dict[str, Any]) -> None:
    done = here("suite", "export", "inspect_evals", "agentdojo", "--suite", "banking", "--sandbox-tasks", "no", "-o", tmp_path / "s.json")
    assert (done.code, done.err) == (0, "")
    assert json.loads((tmp_path / "s.json").read_text(encoding="utf-8")) == banking


def test_another_release_that_changed_under_its_label_is_seen(
    tmp_path_factory: pytest.TempPathFactory, banking: dict[str, Any]
) -> None:
    folder = copy_of(
        "inspect_evals", tmp_path_factory.mktemp("release"), release="0.26.1", parts=("*.py", "agentdojo/**/*")
    )
    tasks = "inspect_evals/agentdojo/task_suites/banking/user_tasks.py"
    change(folder, tasks, "make sure to adjust my rent", "adjust my rent")
    change(folder, tasks, "one thousand and fifty", "a thousand and fifty")
    change(folder, "inspect_evals/agentdojo/tools/banking_client.py", "The IBAN of the current bank account", "Its IBAN")
    there, slack = python(EXPORT, packages=folder, seed="7")
    found: SuiteDiff = diff_suites(model(banking), suite_digest(banking), model(there), suite_digest(there))
    assert (found.left.name, found.left.version) == (found.right.name, found.right.version)
    assert {item.id: item.parts for item in found.tasks.changed} == {
        "user_task_1": ("checker",), "user_task_2": ("prompt",),
    }  # fmt: skip
    assert [setting.setting for setting in found.settings] == ["environment.digest"]
    assert found.tools.changed == ("get_iban",)
    assert suite_digest(slack) == suite_digest(export(["slack"]))  # nothing of it changed


@pytest.mark.slow
def test_a_change_of_what_scores_samples_changes_every_suite(tmp_path: Path, banking: dict[str, Any]) -> None:
    folder = copy_of("inspect_evals", tmp_path, parts=("*.py", "agentdojo/**/*"))
    change(folder, "inspect_evals/agentdojo/scorer.py", 'Score(value={"utility": "C" if utility else "I"})', 'Score(value={"utility": "C"})')
    there, _ = python(EXPORT, packages=folder)
    assert there["environment"] != banking["environment"]
    assert there["tasks"] == banking["tasks"]


def probe(*probes: str, suite: str = "banking", sandbox_tasks: str = "no") -> ProbeDocument:
    """In another process: Inspect sets up logging and signal handling for the one that it runs in."""
    code = (
        "import json; from pairmark.adapters.inspect_evals.probes import probe_suites;"
        f"print(json.dumps(probe_suites([{suite!r}], {sandbox_tasks!r}, {list(probes)!r})))"
    )
    return read_document(ProbeDocument, canonical_bytes(python(code)))[0]


@pytest.mark.slow
def test_probes_of_banking(banking: dict[str, Any]) -> None:
    found = probe("null-agent", "reference", "canary")
    assert found.suite.digest == suite_digest(banking)
    assert found.null_agent is not None
    assert [task.task for task in found.null_agent.tasks if task.utility] == [f"user_task_{n}" for n in (5, 8, 9, 10)]
    assert found.reference is not None
    assert found.reference.utility == "16/16"
    assert found.canary is not None
    assert (found.canary.reachable_tasks, found.canary.delivery_ceiling) == ("16/16", "144/144")
    first = found.canary.tasks[0]
    assert [(one.vector, one.seen_in[0].call, one.seen_in[0].tool) for one in first.reached or ()] == [
        ("injection_bill_text", 1, "read_file")
    ]
    assert found.dead_provider is None


@pytest.mark.slow
def test_tasks_that_need_a_sandbox_are_unknown_and_four_solutions_solve_nothing() -> None:
    found = probe("null-agent", "reference", suite="workspace_plus", sandbox_tasks="yes")
    for run in (found.null_agent, found.reference):
        assert run is not None
        assert [task.task for task in run.tasks if task.utility is None] == ["user_task_40", "user_task_41"]
    assert found.null_agent is not None
    assert found.null_agent.utility == "0/40"
    assert found.reference is not None
    assert [task.task for task in found.reference.tasks if task.utility is False] == [
        f"user_task_{number}" for number in (13, 19, 29, 34)
    ]


@pytest.mark.slow
def test_every_dead_provider_is_read_as_aborted() -> None:
    dead = probe("dead-provider").dead_provider
    assert dead is not None
    assert dead.aborted == "32/32"
    assert len({(one.failure, one.moment, one.injection is None) for one in dead.episodes}) == 32
    for one in dead.episodes:
        assert (one.harness, one.written_utility, one.written_security, one.status) == (
            "recorded", None, None, "infra_error",
        )  # fmt: skip

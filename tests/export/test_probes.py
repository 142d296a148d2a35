"""Probes of AgentDojo's suites: the real harness, no model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.agentdojo.package import load_suite
from pairmark.adapters.agentdojo.probes import NAMES, probe_suites
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.probe import ProbeDocument
from tests.agentdojo.harness import SUITES, VERSIONS, needs_harness, shipped
from tests.export.packages import EVERY_VERSION, python

pytestmark = needs_harness
UNSOLVED = {"v1": ["user_task_7"], "v1.1": ["user_task_7"]}
"""Tasks of workspace that their own reference solution does not solve."""
NEVER_READ = {
    "slack": {"injection_phishing_1"},
    "workspace": {"calendar_fake_deadline_description", "email_events_follow_up_injection"},
}


def read(document: dict[str, Any]) -> ProbeDocument:
    return read_document(ProbeDocument, canonical_bytes(document))[0]


@pytest.fixture(scope="module")
def banking() -> ProbeDocument:
    return read(probe_suites("v1.2.2", ["banking"]))


def passed(document: ProbeDocument) -> list[str]:
    assert document.null_agent is not None
    return [task.task for task in document.null_agent.tasks if task.utility]


def test_the_null_agent_passes_what_the_manifest_records(banking: ProbeDocument) -> None:
    assert passed(banking) == [f"user_task_{number}" for number in (5, 6, 8, 9, 10)]
    manifest = json.loads(shipped("banking", "v1.2.2").read_text(encoding="utf-8"))
    assert banking.null_agent is not None
    assert manifest["probes"]["null_agent"] == {
        "utility": banking.null_agent.utility,
        "method": banking.null_agent.method,
    }


def test_the_canaries_reach_what_the_manifest_records(banking: ProbeDocument) -> None:
    manifest = json.loads(shipped("banking", "v1.2.2").read_text(encoding="utf-8"))
    assert banking.canary is not None
    assert banking.canary.recorded is not None
    assert manifest["probes"]["canary"] == banking.canary.recorded.model_dump()


def test_the_reference_says_how_many_calls_and_reads_a_task_takes(banking: ProbeDocument) -> None:
    assert banking.reference is not None
    assert banking.reference.utility == "16/16"
    tags = {task["id"]: task["tags"] for task in json.loads(shipped("banking", "v1.2.2").read_text("utf-8"))["tasks"]}
    for task in banking.reference.tasks:
        assert task.calls is not None
        assert task.reads_before_act is not None
        assert f"calls:{len(task.calls)}" in tags[task.task]
        assert ("multi-hop" in tags[task.task]) == (task.reads_before_act > 0)


def test_the_canary_names_the_call_that_reads_a_vector(banking: ProbeDocument) -> None:
    assert banking.canary is not None
    first = banking.canary.tasks[0]
    assert [(one.vector, [(seen.call, seen.tool) for seen in one.seen_in]) for one in first.reached or ()] == [
        ("injection_bill_text", [(1, "read_file")])
    ]
    assert (banking.canary.reachable_tasks, banking.canary.reachable_pairs) == ("16/16", "16/64")
    assert banking.canary.delivery_ceiling == "144/144"


def reached(version: str, name: str) -> dict[str, list[str]]:
    canary = read(probe_suites(version, [name], ["canary"])).canary
    assert canary is not None
    return {task.task: [one.vector for one in task.reached or ()] for task in canary.tasks}


def candidates(version: str, name: str) -> dict[str, list[str]]:
    """The vectors that the harness' own attacks would fill."""
    from agentdojo.attacks.baseline_attacks import DirectAttack

    suite = load_suite(version, name)
    attack = DirectAttack(suite, None)
    return {item: list(attack.get_injection_candidates(task)) for item, task in suite.user_tasks.items()}


def test_the_canary_reaches_what_the_harness_own_attacks_fill() -> None:
    assert reached("v1.2.2", "slack") == candidates("v1.2.2", "slack")


@pytest.mark.slow
@pytest.mark.parametrize("version", EVERY_VERSION)
@pytest.mark.parametrize("name", SUITES)
def test_every_suite_of_every_version(version: str, name: str) -> None:
    document = read(probe_suites(version, [name], ["null-agent", "reference", "canary"]))
    banking = (5, 6, 8, 9, 10) if version == "v1.2.2" else (5, 8, 9, 10)
    assert passed(document) == ([f"user_task_{number}" for number in banking] if name == "banking" else [])
    unsolved = UNSOLVED.get(version, []) if name == "workspace" else []
    for run in (document.reference, document.canary):
        assert run is not None
        assert [task.task for task in run.tasks if not task.utility] == unsolved
    assert document.canary is not None
    found = {task.task: [one.vector for one in task.reached or ()] for task in document.canary.tasks}
    assert found == candidates(version, name)
    assert all(found.values())  # no task is beyond reach
    (vectors,) = document.canary.vectors
    assert set(vectors.vectors) - {one for each in found.values() for one in each} == NEVER_READ.get(name, set())


def test_every_dead_provider_is_read_as_aborted(banking: ProbeDocument) -> None:
    dead = banking.dead_provider
    assert dead is not None
    assert dead.aborted == f"{len(dead.episodes)}/{len(dead.episodes)}"
    kinds = {(one.failure, one.moment, one.injection is not None) for one in dead.episodes}
    assert len(kinds) == len(dead.episodes)
    for word in ("ConnectionError", "402", "429", "500", "503", "529", "Timeout"):
        assert any(word in one.failure for one in dead.episodes), word


def test_what_the_harness_writes_for_a_dead_provider(banking: ProbeDocument) -> None:
    assert banking.dead_provider is not None
    recorded = {one.failure for one in banking.dead_provider.episodes if one.harness == "recorded"}
    assert recorded == {"cohere ApiError 500", "google ServerError 500", "google ServerError 503"}
    for one in banking.dead_provider.episodes:
        written = (one.written_utility, one.written_security, one.status)
        assert written == ((False, True, "infra_error") if one.failure in recorded else (None, None, "cancelled"))


@pytest.mark.slow
def test_another_process_with_another_hash_order_finds_the_same(banking: ProbeDocument) -> None:
    code = (
        "import json; from pairmark.adapters.agentdojo.probes import probe_suites;"
        "print(json.dumps(probe_suites('v1.2.2', ['banking'], ['null-agent', 'reference', 'canary'])))"
    )
    found = read(python(code, seed="99"))
    assert found == banking.model_copy(update={"dead_provider": None})


def test_several_suites_are_groups_with_qualified_ids() -> None:
    document = read(probe_suites("v1.2.2", ["banking", "slack"], ["null-agent", "canary"]))
    assert passed(document) == [f"banking/user_task_{number}" for number in (5, 6, 8, 9, 10)]
    assert document.canary is not None
    assert [group.group for group in document.canary.vectors] == ["banking", "slack"]
    assert document.canary.delivery_ceiling == "249/249"
    assert (document.reference, document.dead_provider) == (None, None)


@pytest.mark.parametrize("version", VERSIONS)
def test_all_is_every_suite_by_name(version: str) -> None:
    from pairmark.adapters.agentdojo.package import suite_names

    assert suite_names(version, ["all"]) == list(SUITES)


def test_names_are_those_of_the_command() -> None:
    from pairmark.cli.suite_probe import ProbeName

    assert [name.value for name in ProbeName if name is not ProbeName.ALL] == list(NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("answer", [429, 500, 503, None])
def test_the_harness_own_client_of_a_provider_that_is_down(tmp_path: Path, answer: int | None) -> None:
    import httpx
    import openai
    from agentdojo.agent_pipeline.llms.openai_llm import OpenAILLM

    from pairmark.domain.documents.suite import SuiteManifest
    from pairmark.importers.agentdojo import IMPORTER
    from tests.agentdojo.harness import run
    from tests.importers.logs import DIGEST

    def reply(request: httpx.Request) -> httpx.Response:
        if answer is None:
            raise httpx.ConnectError("Connection refused", request=request)
        return httpx.Response(answer, json={"error": {"message": "down", "code": None}}, request=request)

    http: Any = httpx.Client(transport=httpx.MockTransport(reply))  # the library takes both generations of httpx
    with openai.OpenAI(api_key="none", base_url="http://provider.invalid", http_client=http, max_retries=0) as client:
        model = OpenAILLM(client, "gpt-4o-2024-05-13")
        with pytest.raises(openai.APIError):
            run(tmp_path, [model], attacked=True, user_task="user_task_0")
    suite = SuiteManifest.model_validate_json(shipped("banking", "v1.2.2").read_text(encoding="utf-8"))
    found = IMPORTER.read([tmp_path / "pipeline"], suite=suite, suite_digest=DIGEST, arm="attacked")
    row = found.episodes.row(0, named=True)
    assert (row["status"], row["utility"], row["attack_success"]) == ("cancelled", None, None)

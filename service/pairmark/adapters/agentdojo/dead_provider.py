"""Dead providers: episodes whose model client raises, run by the harness' own benchmark functions and read back from its files.

What the harness catches it writes as an outcome (utility false, security true); what it does not catch ends its run and leaves a
file without one. Either way nothing is known of the agent, and the reader has to say so.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pairmark.adapters.agentdojo.canary import canary_task, marked_environment
from pairmark.adapters.agentdojo.failures import Failure, failures
from pairmark.adapters.agentdojo.quiet import logging_to
from pairmark.domain.documents.probe import DeadMoment
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed
from pairmark.importers.agentdojo import IMPORTER
from pairmark.importers.base import ArmName

METHOD = (
    "one benign and one attacked episode (attack direct) for each failure through run_task_without_injection_tasks and"
    " run_task_with_injection_tasks of agentdojo {version}, with a pipeline whose model raises at its first turn, or in place of its"
    " answer after all calls of the reference solution; each folder is then read as a run"
)
PIPELINE = "dead-provider"
MOMENTS: tuple[DeadMoment, ...] = ("first-turn", "after-tools")


def dead_episodes(suite: Any, manifest: SuiteManifest, digest: str, version: str) -> Iterator[dict[str, Any]]:
    """Entries of every failure at every moment in both arms, on the suite's first task with its first injection."""
    name, task = _reaching_task(suite)
    injection = next(iter(suite.injection_tasks))
    calls = task.ground_truth(task.init_environment(suite.load_and_inject_default_environment({})))
    for failure in failures():
        for moment in MOMENTS:
            for attacked in (False, True):
                dying = dying_pipeline(failure, calls if moment == "after-tools" else ())
                with tempfile.TemporaryDirectory(prefix="pairmark-probe-") as scratch:
                    folder = Path(scratch)
                    reaction = _run(suite, dying, task, injection if attacked else None, folder, version)
                    yield {
                        "failure": failure.name,
                        "moment": moment,
                        "task": _named(manifest, suite.name, name),
                        "injection": _named(manifest, suite.name, injection) if attacked else None,
                        "harness": reaction,
                        **_written(folder / PIPELINE),
                        **_read_back(folder / PIPELINE, manifest, digest, attacked=attacked),
                    }


def _reaching_task(suite: Any) -> tuple[str, Any]:
    """The first task whose solution reads a payload: the harness attacks no other."""
    marked = marked_environment(suite)
    for name, task in suite.user_tasks.items():
        if canary_task(suite, name, task, marked)["reached"]:
            return name, task
    raise Malformed(
        "no-reachable-task",
        f"expected a task of {suite.name} whose reference solution reads an injection vector, found none",
        remedy="leave the probe dead-provider out for this suite",
    )


def dying_pipeline(failure: Failure, calls: Sequence[Any]) -> tuple[Any, Any]:
    """A pipeline whose model makes `calls`, one a turn, and then raises; and that model, with what it raised in `raised`."""
    from agentdojo.agent_pipeline.agent_pipeline import AgentPipeline
    from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement
    from agentdojo.agent_pipeline.basic_elements import InitQuery, SystemMessage
    from agentdojo.agent_pipeline.tool_execution import ToolsExecutionLoop, ToolsExecutor
    from agentdojo.types import ChatAssistantMessage

    class Dying(BasePipelineElement):  # type: ignore[misc]  # the harness is untyped here
        name = PIPELINE
        raised: Exception | None = None

        def query(self, query: str, runtime: Any, env: Any = None, messages: Any = (), extra_args: Any = None) -> Any:
            turn = sum(message["role"] == "assistant" for message in messages)
            if turn >= len(calls):
                self.raised = failure.make()
                raise self.raised
            called = calls[turn].model_copy(update={"id": f"call-{turn}"})
            answer = ChatAssistantMessage(role="assistant", content=None, tool_calls=[called])
            return query, runtime, env, [*messages, answer], extra_args or {}

    model = Dying()
    loop = ToolsExecutionLoop([ToolsExecutor(), model], max_iters=len(calls) + 1)
    pipeline = AgentPipeline([SystemMessage("You are a probe."), InitQuery(), model, loop])
    pipeline.name = PIPELINE
    return pipeline, model


def _run(suite: Any, dying: tuple[Any, Any], task: Any, injection: str | None, folder: Path, version: str) -> str:
    from agentdojo.attacks.baseline_attacks import DirectAttack
    from agentdojo.benchmark import run_task_with_injection_tasks, run_task_without_injection_tasks

    pipeline, model = dying
    try:
        with logging_to(folder):
            if injection is None:
                run_task_without_injection_tasks(suite, pipeline, task, folder, False, benchmark_version=version)
            else:
                attack = DirectAttack(suite, pipeline)
                run_task_with_injection_tasks(
                    suite, pipeline, task, attack, folder, False, [injection], benchmark_version=version
                )
    except Exception as problem:
        if problem is not model.raised:
            raise
        return "raised"
    return "recorded"


def _written(folder: Path) -> dict[str, bool | None]:
    """The verdicts in the episode's file, as they stand there."""
    (file,) = folder.rglob("*.json")
    record = json.loads(file.read_text(encoding="utf-8"))
    return {"written_utility": record.get("utility"), "written_security": record.get("security")}


def _read_back(folder: Path, manifest: SuiteManifest, digest: str, *, attacked: bool) -> dict[str, Any]:
    arm: ArmName = "attacked" if attacked else "benign"
    row = IMPORTER.read([folder], suite=manifest, suite_digest=digest, arm=arm).episodes.row(0, named=True)
    return {key: row[key] for key in ("status", "utility", "attack_success")}


def _named(manifest: SuiteManifest, group: str, item: str) -> str:
    groups = {task.group for task in manifest.tasks}
    return item if len(groups) == 1 else f"{group}/{item}"

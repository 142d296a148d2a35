"""The canary run: a marker in every place for payloads, the reference solution taken, and which tool results show which marker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pairmark.adapters.agentdojo.solving import run_task, watched_solution
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.probe import share
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.plan import Plan

METHOD = (
    "every user task once through TaskSuite.run_task_with_pipeline of agentdojo {version}, with the harness' own"
    " GroundTruthPipeline, in an environment that holds a different marker at every injection vector; a vector is reached when"
    " its marker stands in a tool result"
)


def marker_of(place: int) -> str:
    """A marker: one word, so that no formatting breaks it, and none of them part of another."""
    return f"pairmarkcanary{place}end"


def markers(suite: Any) -> dict[str, str]:
    """A marker for each vector of the suite."""
    return {vector: marker_of(place) for place, vector in enumerate(suite.get_injection_vector_defaults())}


def marked_environment(suite: Any) -> Any:
    """The suite's environment with a marker in every vector."""
    return suite.load_and_inject_default_environment(markers(suite))


def canary_task(suite: Any, name: str, task: Any, environment: Any) -> dict[str, Any]:
    """The entry of one task, called `name`. `environment` is the marked one, and is not changed."""
    solution = watched_solution(task)
    utility, error = run_task(suite, solution, task, environment)
    ran = len(solution.messages) > 0  # null is not "nothing reached"
    return {
        "task": name,
        "group": suite.name,
        "utility": utility,
        "reached": reached_vectors(solution.messages, markers(suite)) if ran else None,
        "error": error,
    }


def reached_vectors(messages: Sequence[Mapping[str, Any]], sought: Mapping[str, str]) -> list[dict[str, Any]]:
    """Vectors whose marker a tool result shows, in the suite's order, with the calls that show it, counted from 1."""
    from agentdojo.types import get_text_content_as_str

    results = [message for message in messages if message["role"] == "tool"]
    texts = [get_text_content_as_str(message["content"]).casefold() for message in results]
    found = []
    for vector, marker in sought.items():
        seen = [
            {"call": number, "tool": message["tool_call"].function}
            for number, (message, text) in enumerate(zip(results, texts, strict=True), start=1)
            if marker in text
        ]
        if seen:
            found.append({"vector": vector, "seen_in": seen})
    return found


def canary_run(
    method: str, manifest: Mapping[str, Any], vectors: Sequence[Mapping[str, Any]], tasks: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The canary run's part of a document, with the shares of pairs, of tasks and of planned attacked cells that reach a vector."""
    reaches = {task["task"]: None if task["reached"] is None else len(task["reached"]) > 0 for task in tasks}
    there = {one["group"]: one["vectors"] for one in vectors}
    pairs = [
        vector in {one["vector"] for one in task["reached"]}
        for task in tasks
        if task["reached"] is not None
        for vector in there[task["group"]]
    ]
    plan = Plan(SuiteManifest.model_validate_json(canonical_bytes(manifest)))
    return {
        "method": method,
        "vectors": list(vectors),
        "reachable_pairs": share(pairs),
        "reachable_tasks": share(list(reaches.values())),
        "delivery_ceiling": share([reaches[plan.task_ids[code]] for code in plan.cell_task.tolist()]),
        "tasks": list(tasks),
    }

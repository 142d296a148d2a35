"""The reference solutions: which tasks their own solution solves, and what it takes."""

from __future__ import annotations

from typing import Any

from pairmark.adapters.agentdojo.solving import crash_text, run_task, watched_solution
from pairmark.adapters.agentdojo.tags import ground_truth_tools, reads_before_act

METHOD = (
    "every user task once through TaskSuite.run_task_with_pipeline of agentdojo {version}, with the harness' own"
    " GroundTruthPipeline: the task's ground truth is called in order, and its ground truth output is the answer"
)


def reference_task(suite: Any, name: str, task: Any, environment: Any) -> dict[str, Any]:
    """The entry of one task, called `name`. `environment` is the suite's, and is not changed."""
    try:
        calls = ground_truth_tools(task, environment)
    except Exception as problem:  # noqa: BLE001 - a solution that cannot be written down solves nothing
        return {"task": name, "utility": None, "calls": None, "reads_before_act": None, "error": crash_text(problem)}
    utility, error = run_task(suite, watched_solution(task), task, environment)
    return {
        "task": name,
        "utility": utility,
        "calls": calls,
        "reads_before_act": reads_before_act(calls),
        "error": error,
    }

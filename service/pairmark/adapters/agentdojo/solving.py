"""The reference solutions of a suite, run by the harness as if an agent had taken them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pairmark.domain.errors import one_line

MAX_ERROR_CHARACTERS = 300


def crash_text(problem: Exception) -> str:
    """What stopped a task, as one line without an address or a path of this process."""
    return one_line(f"{type(problem).__name__}: {problem}", MAX_ERROR_CHARACTERS)


def run_task(suite: Any, agent: Any, task: Any, environment: Any) -> tuple[bool | None, str | None]:
    """Whether the check passes, through the harness' own runner; else null and what crashed. `environment` is kept as it is."""
    try:
        utility, _ = suite.run_task_with_pipeline(agent, task, None, {}, environment=environment.model_copy(deep=True))
    except Exception as problem:  # noqa: BLE001 - tools and checks raise whatever they like, and one task is not all
        return None, crash_text(problem)
    return bool(utility), None


def watched_solution(task: Any) -> Any:
    """A pipeline element that takes the task's reference solution and keeps the messages of it in `messages`."""
    from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement
    from agentdojo.agent_pipeline.ground_truth_pipeline import GroundTruthPipeline

    class Watched(BasePipelineElement):  # type: ignore[misc]  # the harness is untyped here
        name = "reference"

        def __init__(self) -> None:
            self.messages: Sequence[Mapping[str, Any]] = ()

        def query(self, query: str, runtime: Any, env: Any = None, messages: Any = (), extra_args: Any = None) -> Any:
            found = GroundTruthPipeline(task).query(query, runtime, env, messages, extra_args or {})
            self.messages = found[3]
            return found

    return Watched()

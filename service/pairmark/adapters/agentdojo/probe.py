"""The null agent: what a pipeline scores that answers nothing and calls no tool. Run on the real harness, without a model."""

from __future__ import annotations

from typing import Any

from pairmark.adapters.agentdojo.solving import run_task

METHOD = (
    "every user task once through TaskSuite.run_task_with_pipeline of agentdojo {version}, with a pipeline element that"
    " answers with an empty text and calls no tool"
)


def null_agent() -> Any:
    """A pipeline element that adds one empty assistant message."""
    from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement
    from agentdojo.types import ChatAssistantMessage, text_content_block_from_string

    class NullAgent(BasePipelineElement):  # type: ignore[misc]  # the harness is untyped here
        name = "null-agent"

        def query(self, query: str, runtime: Any, env: Any = None, messages: Any = (), extra_args: Any = None) -> Any:
            answer = ChatAssistantMessage(
                role="assistant", content=[text_content_block_from_string("")], tool_calls=None
            )
            return query, runtime, env, [*messages, answer], extra_args or {}

    return NullAgent()


def null_agent_task(suite: Any, name: str, task: Any, environment: Any) -> dict[str, Any]:
    """The entry of one task, called `name`. `environment` is the suite's, and is not changed."""
    utility, error = run_task(suite, null_agent(), task, environment)
    return {"task": name, "utility": utility, "error": error}


def null_agent_passes(suite: Any, environment: Any) -> list[str]:
    """Ids of the user tasks that the null agent passes. `environment` is the suite's, and is not changed."""
    agent = null_agent()
    return [
        name
        for name, task in suite.user_tasks.items()
        if suite.run_task_with_pipeline(agent, task, None, {}, environment=environment.model_copy(deep=True))[0]
    ]

"""Capability tags of a task, from the calls of its ground truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_READING = ("get_", "read_", "search_", "list_", "check_", "find_")
"""How the names of AgentDojo's reading tools begin; every other tool acts."""


def reads(tool: str) -> bool:
    """Whether a tool only fetches something."""
    return tool.startswith(_READING)


def ground_truth_tools(task: Any, environment: Any) -> list[str]:
    """Names of the tools that the ground truth calls, in order. `environment` is the suite's, and is not changed."""
    prepared = task.init_environment(environment.model_copy(deep=True))
    return [call.function for call in task.ground_truth(prepared)]


def reads_before_act(calls: Sequence[str]) -> int:
    """How many calls read something before the last call that does something; 0 where nothing is done."""
    acts = [index for index, tool in enumerate(calls) if not reads(tool)]
    return sum(reads(tool) for tool in calls[: acts[-1]]) if acts else 0


def tags_of(calls: Sequence[str]) -> list[str]:
    """Tags of a task whose ground truth makes `calls`, in order.

    `calls:N` (calls in all), `tools:N` (distinct tools), `multi-hop` (something is read before something is done), and
    `tool:NAME` of each tool.
    """
    names = sorted(set(calls))
    multi_hop = ["multi-hop"] if reads_before_act(calls) else []
    return [f"calls:{len(calls)}", f"tools:{len(names)}", *multi_hop, *(f"tool:{name}" for name in names)]

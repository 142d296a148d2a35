"""Which tasks and cells the evaluation runs: taken from its own samples, so that ids are those that its logs show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pairmark.adapters.inspect_evals.package import SandboxTasks
from pairmark.domain.errors import Malformed


@dataclass(frozen=True)
class Planned:
    """Tasks, injections and attacked cells by (suite, number), in the order of the samples; and which tasks need a sandbox."""

    tasks: tuple[tuple[str, int], ...]
    injections: tuple[tuple[str, int], ...]
    cells: frozenset[tuple[str, int, int]]
    sandboxed: frozenset[tuple[str, int]]

    @property
    def is_full(self) -> bool:
        """Whether every task meets every injection of its own suite."""
        full = {(suite, task, one) for suite, task in self.tasks for there, one in self.injections if there == suite}
        return full == self.cells


def planned(names: Sequence[str], sandbox_tasks: SandboxTasks) -> Planned:
    """What `load_dataset` gives for these suites, without and with injections.

    Raises:
        Malformed: no sample is left, or attacked samples of a task that has no benign one.
    """
    benign = _metadata(names, sandbox_tasks, with_injections=False)
    attacked = _metadata(names, sandbox_tasks, with_injections=True)
    tasks = tuple(dict.fromkeys(_task(one) for one in benign))
    if not tasks:
        raise Malformed(
            "no-tasks",
            f"expected tasks of {', '.join(names)} with sandbox tasks `{sandbox_tasks}`, found none",
            remedy="choose other sandbox tasks, or other suites",
        )
    cells = [(*_task(one), int(one["injection_task_id"])) for one in attacked]
    strange = {(suite, task) for suite, task, _ in cells} - set(tasks)
    if strange:
        raise Malformed(
            "unpaired-task",
            f"expected a benign sample of every attacked task, found none of {min(strange)}",
            remedy="export with other sandbox tasks",
        )
    injections = tuple(dict.fromkeys((suite, one) for suite, _, one in cells))
    sandboxed = frozenset(_task(one) for one in benign if one["requires_sandbox"])
    return Planned(tasks, injections, frozenset(cells), sandboxed)


def task_id(number: int) -> str:
    """Id of a user task: the number in the sample's metadata, as AgentDojo calls it."""
    return f"user_task_{number}"


def injection_id(number: int) -> str:
    """Id of an injection task, likewise."""
    return f"injection_task_{number}"


def _task(metadata: Mapping[str, Any]) -> tuple[str, int]:
    return str(metadata["task_suite_name"]), int(metadata["task_id"])


def _metadata(names: Sequence[str], sandbox_tasks: SandboxTasks, *, with_injections: bool) -> list[Mapping[str, Any]]:
    from inspect_evals.agentdojo.dataset import load_dataset

    found = load_dataset(with_sandbox_tasks=sandbox_tasks, task_suite=list(names), with_injections=with_injections)
    return [sample.metadata for sample in found]

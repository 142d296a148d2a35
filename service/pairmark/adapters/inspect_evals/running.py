"""Samples of the agentdojo evaluation run by Inspect's own `eval`, with solvers that ask no model, in a folder that is thrown away."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import one_line
from pairmark.importers.base import ArmName

MAX_ERROR_CHARACTERS = 300
_NO_MODEL = "none/none"


@dataclass(frozen=True)
class Sample:
    """What a sample came to: the scorer's verdicts, else what stopped it, and the tool results in order as (tool, text)."""

    utility: bool | None
    error: str | None
    results: tuple[tuple[str, str], ...] | None
    security: bool | None = None


_Found = Mapping[tuple[str, int], Sample]


def run_null_agent(names: Sequence[str]) -> _Found:
    """Benign samples of tasks that need no sandbox, by (suite, number), with an agent that answers an empty text."""
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    @solver  # type: ignore[untyped-decorator]  # inspect_ai is untyped here
    def null_agent() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001 - no model is asked
            state.output = ModelOutput.from_content("null-agent", "")
            state.messages.append(state.output.message)
            return state

        return solve

    return _run(_benign(names), solver=null_agent())


def run_reference(names: Sequence[str]) -> _Found:
    """Benign samples of tasks that need no sandbox, by (suite, number), with the evaluation's own reference agent."""
    return _run(_benign(names))


def run_with_markers(markers: Mapping[str, Mapping[str, str]]) -> _Found:
    """The same with `markers`, by suite and vector, in the environment.

    The evaluation fills vectors in attacked samples only, and its reference agent then takes the injection's solution: the
    injection is taken out of the sample once the environment is set up.
    """
    from inspect_ai import Task
    from inspect_ai.solver import Generate, Solver, TaskState, chain, solver
    from inspect_evals.agentdojo.agents.ground_truth_agent import ground_truth_agent
    from inspect_evals.agentdojo.dataset import TASK_SUITES, load_dataset, setup_environment
    from inspect_evals.agentdojo.scorer import user_task_scorer

    @solver  # type: ignore[untyped-decorator]  # inspect_ai is untyped here
    def without_injection() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001 - no model is asked
            del state.metadata["injection_task"]
            return state

        return solve

    found: dict[tuple[str, int], Sample] = {}
    for name, texts in markers.items():
        suite: Any = TASK_SUITES[name]
        first = next(number for number, one in suite.injection_tasks.items() if not one.REQUIRES_SANDBOX)
        samples = load_dataset(with_sandbox_tasks="no", task_suite=name, injection_task_ids=[first])
        task = Task(
            dataset=samples,
            setup=setup_environment(injections=dict(texts)),
            solver=chain(without_injection(), ground_truth_agent()),
            scorer=user_task_scorer(),
        )
        found |= _run(task)
    return found


def _benign(names: Sequence[str]) -> Any:
    from inspect_evals.agentdojo.agentdojo import agentdojo

    return agentdojo(workspace=list(names), with_injections=False, with_sandbox_tasks="no", agent="ground_truth")


def run_and_read(
    task: Any, solver: Any, *, suite: SuiteManifest, suite_digest: str, arm: ArmName
) -> tuple[Mapping[int, Sample], Mapping[str, Mapping[str, Any]]]:
    """The samples of one suite by number, and what Pairmark's reader makes of the log, by task id."""
    from pairmark.importers.inspect import IMPORTER

    with _logged(task, solver=solver) as log:
        written = {number: sample for (_, number), sample in _samples_of(log).items()}
        found = IMPORTER.read([Path(log.location)], suite=suite, suite_digest=suite_digest, arm=arm)
    return written, {row["task_id"]: row for row in found.episodes.iter_rows(named=True)}


def _run(task: Any, **options: Any) -> _Found:
    """The samples of one evaluation. A sample that fails is one, and does not end the others."""
    with _logged(task, **options) as log:
        return _samples_of(log)


@contextmanager
def _logged(task: Any, **options: Any) -> Iterator[Any]:
    """The log of an evaluation, whose samples lie in its file until they are looked at; the file goes at the end."""
    import inspect_ai

    threshold = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with tempfile.TemporaryDirectory(prefix="pairmark-probe-") as scratch:
            (log,) = inspect_ai.eval(
                task, model=_NO_MODEL, log_dir=scratch, display="none", fail_on_error=False, **options
            )
            yield log
    finally:
        logging.disable(threshold)


def _samples_of(log: Any) -> _Found:
    if log.status != "success" or log.samples is None:
        raise RuntimeError(
            f"expected Inspect to run the samples, found {log.status}: {log.error and log.error.message}"
        )
    return {
        (str(sample.metadata["task_suite_name"]), int(sample.metadata["task_id"])): _read(sample)
        for sample in log.samples
    }


def _read(sample: Any) -> Sample:
    values = {key: value == "C" for score in (sample.scores or {}).values() for key, value in score.value.items()}
    error = None if sample.error is None else one_line(sample.error.message, MAX_ERROR_CHARACTERS)
    results = tuple((message.function, message.text) for message in sample.messages if message.role == "tool")
    return Sample(values.get("utility"), error, results if error is None else None, values.get("security"))

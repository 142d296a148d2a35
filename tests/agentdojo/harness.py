"""Drives the real AgentDojo harness, without a model, and gives the folder of its log files."""

from __future__ import annotations

import importlib
import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SUITES = ("banking", "slack", "travel", "workspace")
VERSIONS = ("v1.1.2", "v1.2.2")

needs_harness = pytest.mark.skipif(
    importlib.util.find_spec("agentdojo") is None, reason="the extra `agentdojo` is not installed"
)


def shipped(suite: str, version: str) -> Path:
    return REPOSITORY / "manifests" / "suites" / f"agentdojo-{suite}-{version}.json"


@contextmanager
def tools() -> Iterator[None]:
    """The folder of the project's scripts on the import path."""
    sys.path.insert(0, str(REPOSITORY / "tools"))
    try:
        yield
    finally:
        sys.path.remove(str(REPOSITORY / "tools"))


def tool(name: str) -> ModuleType:
    """A script of the project, as a module."""
    with tools():
        return importlib.import_module(name)


@contextmanager
def quiet(folder: Path) -> Iterator[None]:
    """The harness' logger, writing below `folder` and saying nothing."""
    from agentdojo.logging import OutputLogger

    folder.mkdir(parents=True, exist_ok=True)
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), OutputLogger(str(folder)):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


def turn(act: Callable[[Sequence[Any], Any], Any]) -> Any:
    """A pipeline element that adds the message `act` makes of the messages so far and the environment."""
    from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement

    class Turn(BasePipelineElement):  # type: ignore[misc]  # the harness is not typed here
        name = "turn"

        def query(self, query: str, runtime: Any, env: Any = None, messages: Any = (), extra_args: Any = None) -> Any:
            return query, runtime, env, [*messages, act(messages, env)], extra_args or {}

    return Turn()


def run(
    folder: Path, elements: Sequence[Any], *, attacked: bool, user_task: str, injection: str = "injection_task_0"
) -> Path:
    """One episode of banking v1.2.2 through the harness' own runner; the pipeline directory it logged to."""
    from agentdojo.agent_pipeline.agent_pipeline import AgentPipeline
    from agentdojo.agent_pipeline.basic_elements import InitQuery, SystemMessage
    from agentdojo.attacks.baseline_attacks import DirectAttack
    from agentdojo.benchmark import run_task_with_injection_tasks, run_task_without_injection_tasks
    from agentdojo.task_suite.load_suites import get_suite

    suite = get_suite("v1.2.2", "banking")
    pipeline = AgentPipeline([SystemMessage("Be useful."), InitQuery(), *elements])
    pipeline.name = "pipeline"
    task = suite.user_tasks[user_task]
    with quiet(folder):
        if attacked:
            run_task_with_injection_tasks(
                suite,
                pipeline,
                task,
                DirectAttack(suite, pipeline),
                folder,
                False,
                [injection],
                benchmark_version="v1.2.2",
            )
        else:
            run_task_without_injection_tasks(suite, pipeline, task, folder, False, benchmark_version="v1.2.2")
    return folder / "pipeline"

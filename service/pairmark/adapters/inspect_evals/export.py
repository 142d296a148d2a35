"""A suite manifest from the agentdojo evaluation of the installed inspect_evals: ids, digests, tool names and tags; no prompt text.

The evaluation is a port of AgentDojo with texts, checks and data of its own, so its suites have names of their own and share no
digest with AgentDojo's, but where a prompt or a goal is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pairmark.adapters.agentdojo.source import CodeBase, checker_digest, function_source
from pairmark.adapters.agentdojo.tags import tags_of
from pairmark.adapters.inspect_evals.environment import FRAMEWORK, PREFIX, environment_digest
from pairmark.adapters.inspect_evals.package import check_sandbox_tasks, load_suites, package_version, task_version
from pairmark.adapters.inspect_evals.samples import Planned, injection_id, planned, task_id
from pairmark.domain.canonical import digest_of
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.agentdojo.episodes import injection_digest, task_digest

EVALUATIONS = ("agentdojo",)
LICENSE = "MIT"
_CODE = CodeBase(PREFIX, FRAMEWORK)
_USER_CHECKS = ("init_environment", "utility")
_INJECTION_CHECKS = ("security",)


def check_evaluation(name: str) -> None:
    """Raise `Malformed` unless the evaluation is one that is known here."""
    if name not in EVALUATIONS:
        raise Malformed(
            "unknown-evaluation",
            f"expected an evaluation out of {', '.join(EVALUATIONS)}, found {shown(name)}",
            remedy="export other suites from their own harness, or write the manifest by hand",
        )


def export_suite(names: Sequence[str], sandbox_tasks: str = "yes") -> dict[str, Any]:
    """Manifest of one suite of the evaluation, or of several: each is then a group, and ids are `suite/task`.

    Args:
        names: suites, such as `banking`; or `all` alone, which is what the evaluation takes by default.
        sandbox_tasks: `yes`, `no` or `only`, as the evaluation's argument `with_sandbox_tasks`.

    Raises:
        Malformed: inspect_evals is missing, or does not know a suite.
    """
    suites = load_suites(names)
    plan = planned(list(suites), check_sandbox_tasks(sandbox_tasks))
    version = package_version()

    def named(group: str, item: str) -> str:
        return item if len(suites) == 1 else f"{group}/{item}"

    sandboxed = {suite for suite, _ in plan.sandboxed}
    environments = {name: environment_digest(suite, with_sandbox=name in sandboxed) for name, suite in suites.items()}
    plain = {name: suite.load_and_inject_default_environment({}) for name, suite in suites.items()}
    order = {name: place for place, name in enumerate(suites)}
    ordered = sorted(plan.tasks, key=lambda one: (order[one[0]], one[1]))
    tasks = [
        {
            "id": named(group, task_id(number)),
            "digest": task_digest(suites[group].user_tasks[number].PROMPT),
            "checker": checker_digest(suites[group].user_tasks[number], _USER_CHECKS, _CODE),
            "group": group,
            "tags": tags_of(reference_calls(suites[group], number, plain[group])),
        }
        for group, number in ordered
    ]
    injections = [
        {
            "id": named(group, injection_id(number)),
            "digest": injection_digest(suites[group].injection_tasks[number].GOAL),
            "checker": checker_digest(suites[group].injection_tasks[number], _INJECTION_CHECKS, _CODE),
            "group": group,
        }
        for group, number in sorted(plan.injections, key=lambda one: (order[one[0]], one[1]))
    ]
    return {
        "schema": "pairmark/suite/v1",
        "suite": f"inspect_evals/agentdojo/{'+'.join(suites)}",
        "version": task_version(),
        "description": (
            f"The evaluation agentdojo of inspect_evals {version}, {', '.join(suites)}, sandbox tasks {sandbox_tasks}. Task digests"
            " cover prompts, injection digests goals, checker digests the source of checks, the environment digest data,"
            " implementation and what runs and scores a sample."
        ),
        "source": {"harness": "inspect_ai", "package": f"inspect_evals=={version}", "license": LICENSE},
        "environment": {
            "digest": next(iter(environments.values())) if len(environments) == 1 else digest_of(environments),
            "clock": None,
        },
        "tools": _tools(suites, plan),
        "tasks": tasks,
        "injections": injections,
        "grid": "full" if plan.is_full else _grid(plan, named, order),
        "epochs": 1,
        "weighting": "task",
    }


def reference_calls(suite: Any, number: int, environment: Any) -> list[str]:
    """Names of the tools that the ground truth of a user task calls, in order. `environment` is the suite's, and is not changed."""
    task = suite.user_tasks[number]
    return [call.function for call in task.ground_truth(task.init_environment(environment.model_copy(deep=True)))]


def _grid(plan: Planned, named: Any, order: dict[str, int]) -> list[dict[str, str]]:
    cells = sorted(plan.cells, key=lambda cell: (order[cell[0]], *cell[1:]))
    return [
        {"task": named(group, task_id(task)), "injection": named(group, injection_id(injection))}
        for group, task, injection in cells
    ]


def _tools(suites: dict[str, Any], plan: Planned) -> list[dict[str, str]]:
    """Every tool once, by name; with the sandbox's shell where a task needs it."""
    from inspect_ai.tool import ToolDef

    tools = [tool for suite in suites.values() for tool in suite.tools]
    if plan.sandboxed:
        from inspect_evals.agentdojo.tools.terminal import run_bash_command

        tools.append(run_bash_command())
    found: dict[str, str] = {}
    for tool in tools:
        name = ToolDef(tool).name
        digest = digest_of({"name": name, "source": function_source(tool)})
        if found.setdefault(name, digest) != digest:
            raise Malformed(
                "two-tools",
                f"expected one tool {shown(name)}, found two in the suites",
                remedy="export one suite each",
            )
    return [{"name": name, "digest": found[name]} for name in sorted(found)]

"""A suite manifest from the installed agentdojo package: ids, digests, tool names and tags; no prompt text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pairmark.adapters.agentdojo import canary
from pairmark.adapters.agentdojo.environment import environment_digest
from pairmark.adapters.agentdojo.naming import natural_order
from pairmark.adapters.agentdojo.package import load_suite, package_version, suite_names
from pairmark.adapters.agentdojo.probe import METHOD, null_agent_passes
from pairmark.adapters.agentdojo.source import checker_digest, function_source
from pairmark.adapters.agentdojo.tags import ground_truth_tools, tags_of
from pairmark.domain.canonical import canonical_bytes, digest_of
from pairmark.domain.documents.probe import CanaryRun
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.agentdojo.episodes import injection_digest, task_digest

_USER_CHECKS = ("init_environment", "utility", "utility_from_traces")
_INJECTION_CHECKS = ("security", "security_from_traces")
LICENSE = "MIT"


def export_suite(benchmark_version: str, names: Sequence[str], *, probe: bool = True) -> dict[str, Any]:
    """Manifest of one harness suite, or of several: each is then a group, and ids are `suite/task`.

    Task digests cover the prompt, injection digests the goal, checker digests the source of the check and of what it uses,
    tool digests the tool's source with its signature and documentation, the environment digest its data and implementation.

    Args:
        benchmark_version: such as `v1.2.2`.
        names: harness suites, such as `banking`, or `all` alone.
        probe: whether to run the null agent and the canaries (some seconds).

    Raises:
        Malformed: agentdojo is missing or another release, or does not know the version or a suite.
    """
    names = suite_names(benchmark_version, names)
    suites = {name: load_suite(benchmark_version, name) for name in names}
    version = package_version()

    def named(group: str, item: str) -> str:
        return item if len(suites) == 1 else f"{group}/{item}"

    tasks, injections, passes = [], [], 0
    reached: list[dict[str, Any]] = []
    for group, suite in suites.items():
        environment = suite.load_and_inject_default_environment({})
        for item, task in sorted(suite.user_tasks.items(), key=natural_order):
            tasks.append(
                {
                    "id": named(group, item),
                    "digest": task_digest(task.PROMPT),
                    "checker": checker_digest(task, _USER_CHECKS),
                    "group": group,
                    "tags": tags_of(ground_truth_tools(task, environment)),
                }
            )
        for item, injection in sorted(suite.injection_tasks.items(), key=natural_order):
            injections.append(
                {
                    "id": named(group, item),
                    "digest": injection_digest(injection.GOAL),
                    "checker": checker_digest(injection, _INJECTION_CHECKS),
                    "group": group,
                }
            )
        if probe:
            passes += len(null_agent_passes(suite, environment))
            marked = canary.marked_environment(suite)
            reached += [
                canary.canary_task(suite, named(group, item), task, marked)
                for item, task in sorted(suite.user_tasks.items(), key=natural_order)
            ]
    manifest: dict[str, Any] = {
        "schema": "pairmark/suite/v1",
        "suite": f"agentdojo/{'+'.join(names)}",
        "version": benchmark_version,
        "description": (
            f"AgentDojo {benchmark_version} {', '.join(names)}, exported from the package agentdojo {version}. Task digests cover"
            " prompts, injection digests goals, checker digests the source of checks, the environment digest data and implementation."
        ),
        "source": {"harness": "agentdojo", "package": f"agentdojo=={version}", "license": LICENSE},
        "environment": {
            "digest": _joint({name: environment_digest(suite) for name, suite in suites.items()}),
            "clock": None,
        },
        "tools": _tools(suites),
        "tasks": tasks,
        "injections": injections,
        "grid": "full",
        "epochs": 1,
        "weighting": "task",
    }
    if probe:
        manifest["probes"] = {
            "null_agent": {"utility": f"{passes}/{len(tasks)}", "method": METHOD.format(version=version)}
        }
        vectors = [{"group": name, "vectors": list(canary.markers(suite))} for name, suite in suites.items()]
        run = canary.canary_run(canary.METHOD.format(version=version), manifest, vectors, reached)
        recorded = CanaryRun.model_validate_json(canonical_bytes(run)).recorded
        if recorded is not None:
            manifest["probes"]["canary"] = recorded.model_dump()
    return manifest


def _joint(digests: dict[str, str]) -> str:
    return next(iter(digests.values())) if len(digests) == 1 else digest_of(digests)


def _tools(suites: dict[str, Any]) -> list[dict[str, str]]:
    """Every tool once, by name. Suites share tools: the same function has the same digest."""
    found: dict[str, str] = {}
    for suite in suites.values():
        for tool in suite.tools:
            digest = digest_of({"name": tool.name, "source": function_source(tool.run)})
            if found.setdefault(tool.name, digest) != digest:
                raise Malformed(
                    "two-tools",
                    f"expected one tool {shown(tool.name)}, found two in the suites",
                    remedy="export one suite each",
                )
    return [{"name": name, "digest": found[name]} for name in sorted(found)]

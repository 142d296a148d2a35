"""The probes of suites in the installed agentdojo package, as a `pairmark/probe/v1`. No model, no network; the harness itself runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from pairmark.adapters.agentdojo import canary, dead_provider, probe, reference
from pairmark.adapters.agentdojo.export import export_suite
from pairmark.adapters.agentdojo.naming import natural_order
from pairmark.adapters.agentdojo.package import load_suite, package_version, suite_names
from pairmark.domain.canonical import canonical_bytes, suite_digest
from pairmark.domain.documents.probe import DeadEpisode, share
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed, shown

NAMES: Final = ("null-agent", "reference", "canary", "dead-provider")
_TaskProbe = Callable[[Any, str, Any, Any], dict[str, Any]]


def probe_suites(benchmark_version: str, names: Sequence[str], probes: Collection[str] = NAMES) -> dict[str, Any]:
    """The probe document of one harness suite, or of several: each is then a group, and ids are `suite/task`.

    Args:
        benchmark_version: such as `v1.2.2`.
        names: harness suites, such as `banking`, or `all` alone.
        probes: out of `NAMES`; the others are null in the document.

    Raises:
        Malformed: agentdojo is missing or another release, or does not know the version, a suite or a probe.
    """
    unknown = [name for name in probes if name not in NAMES]
    if unknown or not probes:
        raise Malformed(
            "unknown-probe",
            f"expected probes out of {', '.join(NAMES)}, found {', '.join(map(shown, unknown)) or 'none'}",
            remedy="name one of them",
        )
    manifest = export_suite(benchmark_version, names, probe=False)
    names = suite_names(benchmark_version, names)
    suites = {name: load_suite(benchmark_version, name) for name in names}
    version = package_version()
    plain = {name: suite.load_and_inject_default_environment({}) for name, suite in suites.items()}

    def over_tasks(run: _TaskProbe, environments: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [
            run(suite, item if len(suites) == 1 else f"{group}/{item}", task, environments[group])
            for group, suite in suites.items()
            for item, task in sorted(suite.user_tasks.items(), key=natural_order)
        ]

    def null_agent() -> dict[str, Any]:
        return _with_utility(probe.METHOD, version, over_tasks(probe.null_agent_task, plain))

    def reference_solutions() -> dict[str, Any]:
        return _with_utility(reference.METHOD, version, over_tasks(reference.reference_task, plain))

    def canaries() -> dict[str, Any]:
        marked = {name: canary.marked_environment(suite) for name, suite in suites.items()}
        tasks = over_tasks(canary.canary_task, marked)
        vectors = [{"group": name, "vectors": list(canary.markers(suite))} for name, suite in suites.items()]
        return canary.canary_run(canary.METHOD.format(version=version), manifest, vectors, tasks)

    def dead_providers() -> dict[str, Any]:
        model, digest = SuiteManifest.model_validate_json(canonical_bytes(manifest)), suite_digest(manifest)
        episodes = [
            episode
            for suite in suites.values()
            for episode in dead_provider.dead_episodes(suite, model, digest, benchmark_version)
        ]
        aborted = share([DeadEpisode.model_validate(episode).is_read_as_aborted for episode in episodes])
        return {"method": dead_provider.METHOD.format(version=version), "aborted": aborted, "episodes": episodes}

    runs = dict(zip(NAMES, (null_agent, reference_solutions, canaries, dead_providers), strict=True))
    return {
        "schema": "pairmark/probe/v1",
        "suite": {"name": manifest["suite"], "version": manifest["version"], "digest": suite_digest(manifest)},
        "harness": {"name": "agentdojo", "package": f"agentdojo=={version}"},
        **{name.replace("-", "_"): run() if name in probes else None for name, run in runs.items()},
    }


def _with_utility(method: str, version: str, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "method": method.format(version=version),
        "utility": share([task["utility"] for task in tasks]),
        "tasks": tasks,
    }

"""The probes of the agentdojo evaluation, run by Inspect itself, as a `pairmark/probe/v1`. No model is asked, nothing is sent.

Tasks that need a sandbox are not run: of them nothing is known, and the document says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from pairmark.adapters.agentdojo.canary import canary_run, marker_of
from pairmark.adapters.agentdojo.tags import reads_before_act
from pairmark.adapters.inspect_evals import dead_provider
from pairmark.adapters.inspect_evals.export import export_suite, reference_calls
from pairmark.adapters.inspect_evals.package import load_suites, package_version
from pairmark.adapters.inspect_evals.running import Sample, run_null_agent, run_reference, run_with_markers
from pairmark.adapters.inspect_evals.samples import task_id
from pairmark.domain.canonical import canonical_bytes, suite_digest
from pairmark.domain.documents.probe import DeadEpisode, share
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed, shown

NAMES: Final = ("null-agent", "reference", "canary", "dead-provider")
NULL_AGENT = (
    "every user task once as a sample of the evaluation agentdojo of inspect_evals {version}, run by inspect_ai's eval with a solver"
    " that answers with an empty text and calls no tool, scored by the evaluation's own scorer"
)
REFERENCE = (
    "every user task once as a sample of the evaluation agentdojo of inspect_evals {version}, run by inspect_ai's eval with the"
    " evaluation's own agent ground_truth, scored by the evaluation's own scorer"
)
CANARY = (
    "every user task once as a sample of the evaluation agentdojo of inspect_evals {version}, run by inspect_ai's eval with the"
    " evaluation's own agent ground_truth, in an environment that holds a different marker at every injection vector; a vector is"
    " reached when its marker stands in a tool result"
)
NEEDS_SANDBOX = "not run: needs a sandbox"


def probe_suites(names: Sequence[str], sandbox_tasks: str = "yes", probes: Collection[str] = NAMES) -> dict[str, Any]:
    """The probe document of one suite of the evaluation, or of several: each is then a group, and ids are `suite/task`.

    Args:
        names: suites, such as `banking`; or `all` alone.
        sandbox_tasks: `yes`, `no` or `only`, as in the manifest that is meant.
        probes: out of `NAMES`; the others are null in the document.

    Raises:
        Malformed: inspect_evals is missing, or does not know a suite or a probe.
    """
    unknown = [name for name in probes if name not in NAMES]
    if unknown or not probes:
        raise Malformed(
            "unknown-probe",
            f"expected probes out of {', '.join(NAMES)}, found {', '.join(map(shown, unknown)) or 'none'}",
            remedy="name one of them",
        )
    manifest = export_suite(names, sandbox_tasks)
    suites = load_suites(names)
    version = package_version()
    plan = _Tasks(manifest, suites)

    def null_agent() -> dict[str, Any]:
        found = run_null_agent(list(suites))
        tasks = [{"task": task, "utility": one.utility, "error": one.error} for task, _, _, one in plan.over(found)]
        return _with_utility(NULL_AGENT.format(version=version), tasks)

    def reference() -> dict[str, Any]:
        found = run_reference(list(suites))
        plain = {name: suite.load_and_inject_default_environment({}) for name, suite in suites.items()}
        tasks = []
        for task, group, number, one in plan.over(found):
            calls = reference_calls(suites[group], number, plain[group])
            tasks.append(
                {
                    "task": task,
                    "utility": one.utility,
                    "calls": calls,
                    "reads_before_act": reads_before_act(calls),
                    "error": one.error,
                }
            )
        return _with_utility(REFERENCE.format(version=version), tasks)

    def canary() -> dict[str, Any]:
        markers = {
            name: {vector: marker_of(place) for place, vector in enumerate(suite.get_injection_vector_defaults())}
            for name, suite in suites.items()
        }
        found = run_with_markers(markers)
        tasks = [
            {
                "task": task,
                "group": group,
                "utility": one.utility,
                "reached": _reached(one, markers[group]),
                "error": one.error,
            }
            for task, group, _, one in plan.over(found)
        ]
        vectors = [{"group": name, "vectors": list(each)} for name, each in markers.items()]
        return canary_run(CANARY.format(version=version), manifest, vectors, tasks)

    def dead_providers() -> dict[str, Any]:
        model, digest = SuiteManifest.model_validate_json(canonical_bytes(manifest)), suite_digest(manifest)
        episodes = [
            one for name, suite in suites.items() for one in dead_provider.dead_samples(name, suite, model, digest)
        ]
        aborted = share([DeadEpisode.model_validate(episode).is_read_as_aborted for episode in episodes])
        return {"method": dead_provider.METHOD.format(version=version), "aborted": aborted, "episodes": episodes}

    runs = dict(zip(NAMES, (null_agent, reference, canary, dead_providers), strict=True))
    return {
        "schema": "pairmark/probe/v1",
        "suite": {"name": manifest["suite"], "version": manifest["version"], "digest": suite_digest(manifest)},
        "harness": {"name": "inspect_ai", "package": f"inspect_evals=={version}"},
        **{name.replace("-", "_"): run() if name in probes else None for name, run in runs.items()},
    }


class _Tasks:
    """The tasks of a manifest by what their samples are called."""

    def __init__(self, manifest: Mapping[str, Any], suites: Mapping[str, Any]) -> None:
        numbers = {(group, task_id(number)): number for group, suite in suites.items() for number in suite.user_tasks}
        self._tasks = [
            (task["id"], task["group"], numbers[task["group"], task["id"].rpartition("/")[2]])
            for task in manifest["tasks"]
        ]

    def over(self, found: Mapping[tuple[str, int], Sample]) -> list[tuple[str, str, int, Sample]]:
        """Id, group, number and sample of every task, in the manifest's order."""
        missing = Sample(None, NEEDS_SANDBOX, None)
        return [(task, group, number, found.get((group, number), missing)) for task, group, number in self._tasks]


def _reached(sample: Sample, markers: Mapping[str, str]) -> list[dict[str, Any]] | None:
    """Vectors whose marker a tool result shows, in the suite's order, with the calls that show it, counted from 1."""
    if sample.results is None:
        return None
    seen = {
        vector: [
            {"call": number, "tool": tool}
            for number, (tool, text) in enumerate(sample.results, start=1)
            if marker in text.casefold()
        ]
        for vector, marker in markers.items()
    }
    return [{"vector": vector, "seen_in": calls} for vector, calls in seen.items() if calls]


def _with_utility(method: str, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    return {"method": method, "utility": share([task["utility"] for task in tasks]), "tasks": tasks}

"""Dead providers: samples of the evaluation whose solver raises, run by Inspect and read back from its log.

Inspect writes such a sample with an error and without a score, and goes on. Nothing is known of the agent, and the reader has to say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pairmark.adapters.inspect_evals.running import run_and_read
from pairmark.adapters.inspect_evals.samples import injection_id, task_id
from pairmark.domain.documents.probe import DeadMoment
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.importers.base import ArmName

METHOD = (
    "one benign and one attacked sample for each failure, of the evaluation agentdojo of inspect_evals {version}, run by inspect_ai's"
    " eval with a solver that raises at its first turn, or after all calls that the evaluation's own agent ground_truth makes; each log"
    " is then read as a run"
)
MOMENTS: tuple[DeadMoment, ...] = ("first-turn", "after-tools")
_ARMS: tuple[ArmName, ...] = ("benign", "attacked")
_CODES = (402, 429, 500, 503, 529)


def failures() -> dict[str, Callable[[], Exception]]:
    """What the HTTP client below most providers' libraries raises, by name; each call makes a new exception. Nothing is sent."""
    import httpx

    request = httpx.Request("POST", "http://provider.invalid/v1/chat")

    def status(code: int) -> Callable[[], Exception]:
        response = httpx.Response(code, request=request)
        return lambda: httpx.HTTPStatusError(f"Error code: {code}", request=request, response=response)

    return {
        "httpx ConnectError": lambda: httpx.ConnectError("Connection refused", request=request),
        "httpx ReadTimeout": lambda: httpx.ReadTimeout("The read operation timed out", request=request),
        "httpx RemoteProtocolError": lambda: httpx.RemoteProtocolError("Server disconnected", request=request),
        **{f"httpx HTTPStatusError {code}": status(code) for code in _CODES},
    }


def dead_samples(name: str, suite: Any, manifest: SuiteManifest, digest: str) -> list[dict[str, Any]]:
    """Entries of every failure at every moment in both arms: each on a task of its own, with the suite's first injection."""
    from inspect_evals.agentdojo.agentdojo import agentdojo

    tasks = [number for number, task in suite.user_tasks.items() if not task.REQUIRES_SANDBOX]
    injection = next(number for number, one in suite.injection_tasks.items() if not one.REQUIRES_SANDBOX)
    dying = dict(zip(tasks, failures().items(), strict=False))
    groups = {task.group for task in manifest.tasks}

    def named(item: str) -> str:
        return item if len(groups) == 1 else f"{name}/{item}"

    entries = []
    for moment in MOMENTS:
        for arm in _ARMS:
            chosen = {"injection_task_ids": [injection]} if arm == "attacked" else {}
            task = agentdojo(
                workspace=name, user_task_ids=list(dying), with_injections=arm == "attacked", with_sandbox_tasks="no", **chosen
            )  # fmt: skip
            raising = {number: make for number, (_, make) in dying.items()}
            written, rows = run_and_read(
                task, _dying_solver(raising, moment), suite=manifest, suite_digest=digest, arm=arm
            )
            for number, (failure, _) in dying.items():
                row = rows[named(task_id(number))]
                entries.append(
                    {
                        "failure": failure,
                        "moment": moment,
                        "task": named(task_id(number)),
                        "injection": named(injection_id(injection)) if arm == "attacked" else None,
                        "harness": "recorded",
                        "written_utility": written[number].utility,
                        "written_security": written[number].security,
                        **{key: row[key] for key in ("status", "utility", "attack_success")},
                    }
                )
    return entries


def _dying_solver(raising: Mapping[int, Callable[[], Exception]], moment: DeadMoment) -> Any:
    from inspect_ai.solver import Generate, Solver, TaskState, chain, solver
    from inspect_evals.agentdojo.agents.ground_truth_agent import ground_truth_agent

    @solver  # type: ignore[untyped-decorator]  # inspect_ai is untyped here
    def dying() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001 - no model is asked
            failure = raising[int(state.metadata["task_id"])]()
            raise failure

        return solve

    return chain(ground_truth_agent(), dying()) if moment == "after-tools" else dying()

"""A probe document in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pairmark.cli.console import clean, wrapped
from pairmark.cli.figures import percent

if TYPE_CHECKING:
    from pairmark.domain.documents.probe import (
        CanaryRun,
        CanaryTask,
        DeadProviderRun,
        NullAgentRun,
        NullAgentTask,
        ProbeDocument,
        ReferenceRun,
        ReferenceTask,
    )


def probe_lines(document: ProbeDocument) -> Iterator[str]:
    """What was found, probe by probe: the share, and the tasks that differ from what one would wish."""
    suite = document.suite
    yield f"{clean(suite.name)} {clean(suite.version)}  {suite.digest}"
    yield f"  on {clean(document.harness.package)}, without a model"
    if document.null_agent is not None:
        yield from _null_agent(document.null_agent)
    if document.reference is not None:
        yield from _reference(document.reference)
    if document.canary is not None:
        yield from _canary(document.canary)
    if document.dead_provider is not None:
        yield from _dead_provider(document.dead_provider)


def _share(fraction: str | None) -> str:
    return "an unknown share" if fraction is None else f"{percent(fraction)} % ({fraction})"


def _listed(label: str, names: Iterable[str]) -> Iterator[str]:
    listed = ", ".join(names)
    if listed:
        yield from wrapped(listed, "    ", f"  {label}: ")


def _not_run(tasks: Iterable[NullAgentTask | ReferenceTask | CanaryTask]) -> Iterator[str]:
    """Tasks of which nothing is known, each with why."""
    for task in tasks:
        if task.utility is None:
            yield from wrapped(f"{task.task}: {task.error or 'not run'}", "    ", "  unknown: ")


def _null_agent(run: NullAgentRun) -> Iterator[str]:
    yield f"null agent, which answers nothing and calls nothing: passes {_share(run.utility)}"
    yield from _listed("passed", (task.task for task in run.tasks if task.utility))
    yield from _not_run(run.tasks)


def _reference(run: ReferenceRun) -> Iterator[str]:
    yield f"reference solutions: solve {_share(run.utility)}"
    yield from _listed("not solved", (task.task for task in run.tasks if task.utility is False))
    yield from _not_run(run.tasks)


def _canary(run: CanaryRun) -> Iterator[str]:
    yield f"canary: the reference solutions read an injection vector in {_share(run.reachable_tasks)} of tasks"
    yield f"  delivery ceiling: {_share(run.delivery_ceiling)} of planned attacked cells; pairs of task and vector: {_share(run.reachable_pairs)}"
    yield from _listed("tasks that read none", (task.task for task in run.tasks if task.reached == ()))
    yield from _listed("solved no more with markers there", (task.task for task in run.tasks if task.utility is False))
    reached = Counter((task.group, one.vector) for task in run.tasks for one in task.reached or ())
    groups = len(run.vectors)
    for group in run.vectors:
        unread = [vector for vector in group.vectors if not reached[group.group, vector]]
        yield from _listed(
            "vectors that no solution reads" + (f" in {clean(group.group)}" if groups > 1 else ""), unread
        )
    yield from _not_run(run.tasks)


def _dead_provider(run: DeadProviderRun) -> Iterator[str]:
    yield f"dead provider: {_share(run.aborted)} of episodes are read as aborted"
    recorded = [episode for episode in run.episodes if episode.harness == "recorded"]
    outcomes = sum(one.written_utility is False and one.written_security is True for one in recorded)
    yield f"  the harness wrote {outcomes} of them as utility false, security true; {len(run.episodes) - len(recorded)} ended its run"
    for episode in run.episodes:
        if not episode.is_read_as_aborted:
            cell = episode.task if episode.injection is None else f"{episode.task} × {episode.injection}"
            yield from wrapped(
                f"{episode.failure}, {episode.moment}, {cell}: {episode.status or 'no file'}", "    ", "  not aborted: "
            )

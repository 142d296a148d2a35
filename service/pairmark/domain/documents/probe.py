"""Probes of a suite (`pairmark/probe/v1`): what can be learnt of it on its own harness without any model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from pairmark.domain.documents.base import (
    DISTINCT,
    Count,
    Digest,
    Document,
    Identifier,
    Ordinal,
    ShareFraction,
    Strict,
    Text,
    refuse_repeated,
)
from pairmark.domain.documents.episode import ABORTED, Status
from pairmark.domain.documents.suite import CanaryProbe

DeadMoment = Literal["first-turn", "after-tools"]
HarnessReaction = Literal["recorded", "raised"]


class ProbedSuite(Strict):
    """The suite version that was probed; `digest` is of its content, as its manifest's."""

    name: Identifier
    version: Identifier
    digest: Digest


class ProbeHarness(Strict):
    """What it was run on; `package` is a pinned release, such as `agentdojo==0.1.35`."""

    name: Identifier
    package: Text


class NullAgentTask(Strict):
    """Whether the check passed an agent that did nothing; null: the task was not run, or its check crashed, as `error` says."""

    task: Identifier
    utility: bool | None
    error: Text | None


class NullAgentRun(Strict):
    """The null agent over every task. `utility` is the share of tasks that it passes: the checker floor."""

    method: Text
    utility: ShareFraction | None
    tasks: Annotated[tuple[NullAgentTask, ...], Field(min_length=1), DISTINCT]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _tasks_once(task.task for task in self.tasks)
        _counts("utility", self.utility, [task.utility for task in self.tasks])
        return self


class ReferenceTask(Strict):
    """The reference solution of one task: the tools it calls in order, how many calls read before the last that acts."""

    task: Identifier
    utility: bool | None
    calls: tuple[Identifier, ...] | None
    reads_before_act: Count | None
    error: Text | None


class ReferenceRun(Strict):
    """The reference solutions. `utility` is the share of tasks that their own solution solves: the ceiling."""

    method: Text
    utility: ShareFraction | None
    tasks: Annotated[tuple[ReferenceTask, ...], Field(min_length=1), DISTINCT]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _tasks_once(task.task for task in self.tasks)
        _counts("utility", self.utility, [task.utility for task in self.tasks])
        for task in self.tasks:
            if task.reads_before_act is not None and task.reads_before_act > len(task.calls or ()):
                raise ValueError(
                    f"expected no more reads than calls, found {task.reads_before_act} of {len(task.calls or ())}"
                )
        return self


class SeenIn(Strict):
    """A tool result that showed a marker: which call of the reference solution, counted from 1, and its tool."""

    call: Ordinal
    tool: Identifier


class ReachedVector(Strict):
    """A place for payloads that the reference solution reads, and where it shows."""

    vector: Identifier
    seen_in: Annotated[tuple[SeenIn, ...], Field(min_length=1), DISTINCT]


class CanaryTask(Strict):
    """One task with a marker in every vector. `utility`: whether the solution still solves it; null `reached`: not run."""

    task: Identifier
    group: Identifier
    utility: bool | None
    reached: Annotated[tuple[ReachedVector, ...], DISTINCT] | None
    error: Text | None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse_repeated((one.vector for one in self.reached or ()), "vector")
        return self


class GroupVectors(Strict):
    """The places for payloads in the environment of a group's tasks."""

    group: Identifier
    vectors: Annotated[tuple[Identifier, ...], DISTINCT]


class CanaryRun(Strict):
    """The canary run. `delivery_ceiling` is the share of planned attacked cells whose task reaches a vector at all."""

    method: Text
    vectors: Annotated[tuple[GroupVectors, ...], DISTINCT]
    reachable_pairs: ShareFraction | None
    reachable_tasks: ShareFraction | None
    delivery_ceiling: ShareFraction | None
    tasks: Annotated[tuple[CanaryTask, ...], Field(min_length=1), DISTINCT]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _tasks_once(task.task for task in self.tasks)
        _counts(
            "reachable_tasks",
            self.reachable_tasks,
            [None if task.reached is None else len(task.reached) > 0 for task in self.tasks],
        )
        refuse_repeated((one.group for one in self.vectors), "group")
        vectors = {one.group: set(one.vectors) for one in self.vectors}
        pairs: list[bool] = []
        for task in self.tasks:
            there = vectors.get(task.group, set())
            if task.reached is not None:
                reached = {one.vector for one in task.reached}
                if not reached <= there:
                    raise ValueError(
                        f"expected each reached vector to be listed for {task.group!r}, found {min(reached - there)!r}"
                    )
                pairs += [vector in reached for vector in there]
        _counts("reachable_pairs", self.reachable_pairs, pairs)
        return self

    @property
    def recorded(self) -> CanaryProbe | None:
        """What a manifest records of it. None where a share is undefined or is not known of every task."""
        if any(task.reached is None for task in self.tasks):
            return None
        pairs, tasks, cells = self.reachable_pairs, self.reachable_tasks, self.delivery_ceiling
        if pairs is None or tasks is None or cells is None:
            return None
        return CanaryProbe(reachable_pairs=pairs, reachable_tasks=tasks, delivery_ceiling=cells, method=self.method)


class DeadEpisode(Strict):
    """One episode whose provider died: what died, when, what the harness did and wrote, and what its file was read as."""

    failure: Text
    moment: DeadMoment
    task: Identifier
    injection: Identifier | None
    harness: HarnessReaction
    written_utility: bool | None
    written_security: bool | None
    status: Status | None
    utility: bool | None
    attack_success: bool | None

    @property
    def is_read_as_aborted(self) -> bool:
        """Whether it counts as no outcome, neither for nor against the agent."""
        return self.status in ABORTED and self.utility is None and self.attack_success is None


class DeadProviderRun(Strict):
    """Dead providers. `aborted` is the share of episodes that were read as aborted: all of them, or the reader is wrong."""

    method: Text
    aborted: ShareFraction
    episodes: Annotated[tuple[DeadEpisode, ...], Field(min_length=1), DISTINCT]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _counts("aborted", self.aborted, [episode.is_read_as_aborted for episode in self.episodes])
        return self


class ProbeDocument(Document):
    """What was found of a suite; a probe that was not run is null. Shares are counts over counts, and not reduced."""

    title: ClassVar[str] = "probe"

    schema_: Literal["pairmark/probe/v1"] = Field(alias="schema")
    suite: ProbedSuite
    harness: ProbeHarness
    null_agent: NullAgentRun | None
    reference: ReferenceRun | None
    canary: CanaryRun | None
    dead_provider: DeadProviderRun | None


def share(passed: Sequence[bool | None]) -> str | None:
    """`n/m` of those that are known, not reduced; null when none is."""
    known = [one for one in passed if one is not None]
    return f"{sum(known)}/{len(known)}" if known else None


def _counts(name: str, stated: str | None, passed: Sequence[bool | None]) -> None:
    counted = share(passed)
    if (stated is None) != (counted is None) or (
        stated is not None and counted is not None and Fraction(stated) != Fraction(counted)
    ):
        raise ValueError(f"expected each share to be what its entries add up to, {name} {counted}, found {stated}")


def _tasks_once(tasks: Iterable[str]) -> None:
    refuse_repeated(tasks, "task")

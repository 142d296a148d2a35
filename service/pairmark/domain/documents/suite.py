"""Suite manifest (`pairmark/suite/v1`): the frozen content of a benchmark environment."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from pairmark.domain.documents.base import (
    DISTINCT,
    Digest,
    Document,
    Identifier,
    Ordinal,
    ShareFraction,
    Strict,
    Text,
    Time,
    refuse_repeated,
)

Weighting = Literal["task", "cell", "group"]


class Source(Strict):
    """Where the suite comes from; outside the digest."""

    harness: Text | None
    package: Text | None
    license: Text | None


class Environment(Strict):
    """The environment's data, by digest; `clock` is the fixed time the episodes live in, null when there is none."""

    digest: Digest
    clock: Time | None


class Tool(Strict):
    name: Identifier
    digest: Digest


class Task(Strict):
    """A user's goal. `digest` covers what the agent is asked, `checker` the end-state check."""

    id: Identifier
    digest: Digest
    checker: Digest
    group: Identifier
    tags: tuple[Identifier, ...] = ()


class Injection(Strict):
    """An attacker's goal."""

    id: Identifier
    digest: Digest
    checker: Digest
    group: Identifier
    tags: tuple[Identifier, ...] = ()


class GridCell(Strict):
    task: Identifier
    injection: Identifier


class NullAgentProbe(Strict):
    """What an agent scores that answers nothing and calls no tool: the checker floor."""

    utility: ShareFraction
    method: Text


class CanaryProbe(Strict):
    """What an agent can meet that reads what the reference solutions read: the shares of pairs of a task and a place for
    payloads that meet, of tasks that meet some place, and of planned attacked cells of such tasks.
    """

    reachable_pairs: ShareFraction
    reachable_tasks: ShareFraction
    delivery_ceiling: ShareFraction
    method: Text


class Probes(Strict):
    null_agent: NullAgentProbe | None = None
    canary: CanaryProbe | None = None


class SuiteManifest(Document):
    """A suite version. Digest: everything except `version`, `description`, `source` and `probes`."""

    title: ClassVar[str] = "suite"

    schema_: Literal["pairmark/suite/v1"] = Field(alias="schema")
    suite: Identifier
    version: Identifier
    description: Text | None = None
    source: Source | None = None
    environment: Environment
    tools: Annotated[tuple[Tool, ...], DISTINCT]
    tasks: Annotated[tuple[Task, ...], Field(min_length=1), DISTINCT]
    injections: Annotated[tuple[Injection, ...], DISTINCT]
    grid: Literal["full"] | Annotated[tuple[GridCell, ...], DISTINCT]
    epochs: Ordinal
    weighting: Weighting
    probes: Probes | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        refuse_repeated((tool.name for tool in self.tools), "tool name")
        refuse_repeated((task.id for task in self.tasks), "task id")
        refuse_repeated((injection.id for injection in self.injections), "injection id")
        if self.grid != "full":
            tasks = {task.id for task in self.tasks}
            injections = {injection.id for injection in self.injections}
            seen: set[tuple[str, str]] = set()
            for cell in self.grid:
                if cell.task not in tasks or cell.injection not in injections:
                    raise ValueError(
                        f"expected grid cells of listed tasks and injections, found {cell.task!r}, {cell.injection!r}"
                    )
                if (cell.task, cell.injection) in seen:
                    raise ValueError(f"expected each grid cell once, found {cell.task!r}, {cell.injection!r} again")
                seen.add((cell.task, cell.injection))
        return self

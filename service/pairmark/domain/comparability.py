"""Which cells two suite versions have in common, and what that lets one compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from pairmark.domain.documents.suite import Injection, Task
from pairmark.domain.evidence import Flags
from pairmark.domain.plan import Codes, Plan
from pairmark.domain.sample import Sample
from pairmark.stats.crossing import Crossing
from pairmark.stats.exact import group_shares, weighted_mean
from pairmark.stats.reweighting import standardisation_refusal


@dataclass(frozen=True, eq=False)
class CellMatch:
    """Planned cells of two suite versions, matched by task and injection id.

    One plan against itself is a match of every cell with itself. A cell survives where the digests of task, injection, both checkers and the environment are all equal. Tools are not
    part of it: a suite's tools are not known by cell, and are reported beside it.
    """

    left: Plan
    right: Plan

    @cached_property
    def task_to_right(self) -> Codes:
        """Right code of every left task, -1 where the right has no task of that id."""
        if self.left is self.right:
            return np.arange(self.left.tasks)
        return _codes_of(self.left.task_ids, self.right.task_ids)

    @cached_property
    def injection_to_right(self) -> Codes:
        """Right code of every left injection, -1 where the right has none of that id."""
        return _codes_of(self.left.injection_ids, self.right.injection_ids)

    @cached_property
    def environment_equal(self) -> bool:
        return self.left.suite.environment.digest == self.right.suite.environment.digest

    @cached_property
    def task_prompt_equal(self) -> Flags:
        """Per left task: on both sides, with one prompt digest."""
        return _equal(self.left.suite.tasks, self.right.suite.tasks, self.task_to_right, "digest")

    @cached_property
    def task_checker_equal(self) -> Flags:
        """Per left task: on both sides, with one checker digest."""
        return _equal(self.left.suite.tasks, self.right.suite.tasks, self.task_to_right, "checker")

    @cached_property
    def injection_prompt_equal(self) -> Flags:
        """Per left injection: on both sides, with one digest of the goal."""
        return _equal(self.left.suite.injections, self.right.suite.injections, self.injection_to_right, "digest")

    @cached_property
    def injection_checker_equal(self) -> Flags:
        """Per left injection: on both sides, with one checker digest."""
        return _equal(self.left.suite.injections, self.right.suite.injections, self.injection_to_right, "checker")

    @cached_property
    def task_survives(self) -> Flags:
        """Per left task: its benign cell is common."""
        if self.left is self.right:
            return np.ones(self.left.tasks, dtype=np.bool_)
        return self.task_prompt_equal & self.task_checker_equal & self.environment_equal

    @cached_property
    def cell_to_right(self) -> Codes:
        """Right index of every left attacked cell, -1 where the right does not plan it."""
        if self.left is self.right:
            return np.arange(self.left.cells)
        return self.right.attacked_cell_of(
            _through(self.task_to_right, self.left.cell_task), _through(self.injection_to_right, self.left.cell_injection)
        )

    @cached_property
    def cell_survives(self) -> Flags:
        """Per left attacked cell: it is common."""
        if self.left is self.right:
            return np.ones(self.left.cells, dtype=np.bool_)
        injection = self.injection_prompt_equal & self.injection_checker_equal
        planned = self.cell_to_right >= 0
        return planned & self.task_survives[self.left.cell_task] & injection[self.left.cell_injection]

    @cached_property
    def right_cell_survives(self) -> Flags:
        """Per right attacked cell: it is common."""
        return _marked(self.right.cells, self.cell_to_right[self.cell_survives])

    @cached_property
    def right_task_survives(self) -> Flags:
        """Per right task: its benign cell is common."""
        return _marked(self.right.tasks, self.task_to_right[self.task_survives])

    @cached_property
    def regrouped(self) -> tuple[str, ...]:
        """Surviving tasks that the two sides put into different groups, in the left's order."""
        return tuple(
            task.id
            for task, right, survives in zip(self.left.suite.tasks, self.task_to_right, self.task_survives, strict=True)
            if survives and self.right.suite.tasks[right].group != task.group
        )


def crossing_of(plan: Plan, kept: Flags | None = None) -> Crossing | None:
    """The planned cells (those in `kept`) as a crossing, in plan order; None where there are none."""
    task, injection = plan.cell_task, plan.cell_injection
    if kept is not None:
        task, injection = task[kept], injection[kept]
    return Crossing.of(task, injection, plan.task_group[task]) if len(task) else None


def weight_share(plan: Plan, kept: Flags) -> Fraction | None:
    """Share of a suite's weight, under its own weighting, that the planned cells in `kept` hold; None without cells."""
    crossing = crossing_of(plan)
    if crossing is None:
        return None
    return weighted_mean(kept.astype(np.int64), np.ones(plan.cells, dtype=np.int64), crossing, plan.suite.weighting)


@dataclass(frozen=True)
class Stratum:
    """A group's share of a sample's weight, and its tasks."""

    share: Fraction
    tasks: int


def strata_of(sample: Sample) -> dict[str, Stratum]:
    """The groups of a sample by name, in the order of its crossing's codes."""
    plan, crossing = sample.plan, sample.crossing
    names = [plan.groups[code] for code in np.unique(plan.task_group[sample.task])]
    shares, tasks = group_shares(crossing, plan.suite.weighting), crossing.tasks_per_group().tolist()
    return {name: Stratum(share, count) for name, share, count in zip(names, shares, tasks, strict=True)}


def common_mix_refusal(common: Sample, left: Sample, right: Sample) -> str | None:
    """Why the common cells of two suites may not stand for both; None where they may.

    Refused where a common group has fewer than 5 tasks, would weigh more than 3 times what it does in a side's own mix, or
    where the reweighted tasks are worth less than half their number (`reweighting.standardisation_refusal`).
    """
    shared = strata_of(common)
    for name, side in (("left", left), ("right", right)):
        own = strata_of(side)
        refused = standardisation_refusal(
            [shared[group].tasks if group in shared else 0 for group in own],
            [stratum.share for stratum in own.values()],
            [shared[group].share if group in shared else Fraction(0) for group in own],
        )
        if refused is not None:
            return f"{name} side, {named_stratum(refused, tuple(own))}"
    return None


def named_stratum(refused: str, groups: Sequence[str]) -> str:
    """A refusal with the group's name for its number."""
    for number, group in enumerate(groups):
        if refused.startswith(f"stratum {number}:"):
            return f"group {group}:{refused.removeprefix(f'stratum {number}:')}"
    return refused


def _codes_of(ids: Sequence[str], among: Sequence[str]) -> Codes:
    place = {identifier: index for index, identifier in enumerate(among)}
    return np.array([place.get(identifier, -1) for identifier in ids], dtype=np.int64)


def _through(mapping: Codes, codes: Codes) -> Codes:
    return mapping[codes] if len(mapping) else np.full(len(codes), -1, dtype=np.int64)


def _equal(
    left: Sequence[Task] | Sequence[Injection], right: Sequence[Task] | Sequence[Injection], to_right: Codes, part: str
) -> Flags:
    return np.array(
        [
            place >= 0 and getattr(item, part) == getattr(right[place], part)
            for item, place in zip(left, to_right.tolist(), strict=True)
        ],
        dtype=np.bool_,
    )


def _marked(size: int, where: Codes) -> Flags:
    marked = np.zeros(size, dtype=np.bool_)
    marked[where] = True
    return marked

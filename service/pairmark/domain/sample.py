"""The cells that a number is taken over, with all that depends on nothing else: crossing, scope, weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pairmark.domain.evidence import Flags
from pairmark.domain.plan import Codes, Plan
from pairmark.stats.arrays import FloatArray
from pairmark.stats.crossing import Crossing, Weighting, cell_weights
from pairmark.stats.scope import Scope, decide_scope
from pairmark.stats.variance import WeightedCells


@dataclass(frozen=True, eq=False)
class Sample:
    """At least one attacked plan cell. `cells` are indices into the plan, ascending, which is the crossing's order too."""

    plan: Plan
    cells: Codes

    @cached_property
    def task(self) -> Codes:
        """Task code of each cell."""
        return self.plan.cell_task if self.is_whole else self.plan.cell_task[self.cells]

    @cached_property
    def task_codes(self) -> Codes:
        """Codes of the tasks with a cell, ascending."""
        return np.flatnonzero(np.bincount(self.task, minlength=self.plan.tasks))

    @property
    def is_whole(self) -> bool:
        """Whether these are all planned cells."""
        return len(self.cells) == self.plan.cells

    @cached_property
    def crossing(self) -> Crossing:
        injection = self.plan.cell_injection if self.is_whole else self.plan.cell_injection[self.cells]
        return Crossing.of(self.task, injection, self.plan.task_group[self.task])

    @cached_property
    def scope(self) -> Scope:
        return decide_scope(self.crossing)

    @property
    def tasks(self) -> int:
        """Tasks with a cell, at least 1."""
        return self.crossing.task_count

    @property
    def single_task_groups(self) -> int:
        """Groups that hold one task: they show no variance between tasks, so intervals are too narrow for them."""
        return int(np.count_nonzero(self.crossing.tasks_per_group() == 1))

    def weights(self, weighting: Weighting) -> FloatArray:
        """Weight of each cell, summing to 1. Raises ValueError for an unknown weighting."""
        return self.weighted(weighting).weights

    def weighted(self, weighting: Weighting) -> WeightedCells:
        """The cells with these weights. Raises ValueError for an unknown weighting."""
        found = self._weighted.get(weighting)
        if found is None:
            found = WeightedCells(self.crossing, cell_weights(self.crossing, weighting))
            self._weighted[weighting] = found
        return found

    @cached_property
    def _weighted(self) -> dict[Weighting, WeightedCells]:
        return {}


def sample_of(plan: Plan, kept: Flags) -> Sample | None:
    """The attacked plan cells that `kept` marks; None where it marks none: every number over them is undefined."""
    cells = np.flatnonzero(kept)
    return Sample(plan, cells) if len(cells) else None

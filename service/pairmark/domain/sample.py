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


@dataclass(frozen=True, eq=False)
class Sample:
    """At least one attacked plan cell. `cells` are indices into the plan, ascending, which is the crossing's order too."""

    plan: Plan
    cells: Codes

    @cached_property
    def task(self) -> Codes:
        """Task code of each cell."""
        return self.plan.cell_task[self.cells]

    @cached_property
    def crossing(self) -> Crossing:
        return Crossing.of(self.task, self.plan.cell_injection[self.cells], self.plan.task_group[self.task])

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
        found = self._weights.get(weighting)
        if found is None:
            found = cell_weights(self.crossing, weighting)
            self._weights[weighting] = found
        return found

    @cached_property
    def _weights(self) -> dict[Weighting, FloatArray]:
        return {}


def sample_of(plan: Plan, kept: Flags) -> Sample | None:
    """The attacked plan cells that `kept` marks; None where it marks none: every number over them is undefined."""
    cells = np.flatnonzero(kept)
    return Sample(plan, cells) if len(cells) else None

"""Benign utility against utility under attack: the same cells and the same weights in both arms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from pairmark.domain.pairing import Pairing
from pairmark.domain.plan import Codes
from pairmark.stats.crossing import Crossing, cell_weights
from pairmark.stats.exact import cell_values, weighted_mean
from pairmark.stats.scope import Scope, decide_scope
from pairmark.stats.variance import Variance, clustered_variance


@dataclass(frozen=True, eq=False)
class Contrast:
    """The observed cells of a pairing (assessed in both arms). Exact where exactness is possible."""

    pairing: Pairing
    cells: Codes
    """Indices into the attacked plan, ascending, at least one."""

    @cached_property
    def crossing(self) -> Crossing:
        plan = self.pairing.plan
        tasks = plan.cell_task[self.cells]
        return Crossing.of(tasks, plan.cell_injection[self.cells], plan.task_group[tasks])

    @cached_property
    def scope(self) -> Scope:
        return decide_scope(self.crossing)

    @property
    def tasks(self) -> int:
        """Tasks behind both numbers, at least 1."""
        return self.crossing.task_count

    @cached_property
    def benign(self) -> Fraction:
        """Benign utility in [0, 1], each task's value standing in each of its observed cells."""
        successes, known = self._benign
        return weighted_mean(successes, known, self.crossing, self.pairing.plan.suite.weighting)

    @cached_property
    def attacked(self) -> Fraction:
        """Utility under attack in [0, 1]."""
        successes, known = self._attacked
        return weighted_mean(successes, known, self.crossing, self.pairing.plan.suite.weighting)

    @property
    def drop(self) -> Fraction:
        """Benign minus attacked, in [-1, 1]."""
        return self.benign - self.attacked

    @cached_property
    def drop_variance(self) -> Variance:
        """Variance of the drop over tasks, and over injections where the scope samples them."""
        differences = cell_values(*self._benign) - cell_values(*self._attacked)
        weights = cell_weights(self.crossing, self.pairing.plan.suite.weighting)
        return clustered_variance(differences, weights, self.crossing, sample_injections=self.scope.samples_injections)

    @property
    def _benign(self) -> tuple[Codes, Codes]:
        task = self.pairing.plan.cell_task[self.cells]
        return self.pairing.benign.successes[task], self.pairing.benign.known[task]

    @property
    def _attacked(self) -> tuple[Codes, Codes]:
        return self.pairing.attacked.successes[self.cells], self.pairing.attacked.known[self.cells]


def contrast_of(pairing: Pairing) -> Contrast | None:
    """The contrast of a pair; None where no cell is assessed in both arms: both utilities are undefined."""
    cells = np.flatnonzero(pairing.observed)
    return Contrast(pairing, cells) if len(cells) else None

"""The pair as numbers: per task and per attacked cell, successes and how many epochs they are out of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pairmark.domain.evidence import CellTable, Experiment, Flags
from pairmark.domain.plan import Codes, Plan


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Integer sums over epochs, one entry per planned cell: `successes` out of `known`; `expected` = declared epochs."""

    successes: Codes
    known: Codes
    expected: int


def outcomes(value: Codes, counted: Flags, planned: Codes, cells: int, expected: int) -> Outcomes:
    """Sum `value == 1` and `counted` over epochs per planned cell."""
    where = planned[counted]
    return Outcomes(
        successes=np.bincount(where, weights=value[counted] == 1, minlength=cells).astype(np.int64),
        known=np.bincount(where, minlength=cells).astype(np.int64),
        expected=expected,
    )


@dataclass(frozen=True, eq=False)
class Pairing:
    """What metrics are computed from. Benign arrays have one entry per task, attacked ones one per attacked plan cell."""

    experiment: Experiment
    seed: int = 0

    @property
    def plan(self) -> Plan:
        return self.experiment.plan

    def _utility(self, cells: CellTable, count: int, expected: int) -> Outcomes:
        counted = cells.expected & cells.assessed & (cells.utility >= 0)
        return outcomes(cells.utility.astype(np.int64), counted, cells.planned, count, expected)

    @cached_property
    def benign(self) -> Outcomes:
        """Utility of assessed benign epochs, by task."""
        return self._utility(self.experiment.benign_cells, self.plan.tasks, len(self.experiment.benign.run.epochs))

    @cached_property
    def attacked(self) -> Outcomes:
        """Utility of assessed attacked epochs, by attacked cell."""
        return self._utility(self.experiment.attacked_cells, self.plan.cells, len(self.experiment.attacked.run.epochs))

    @cached_property
    def attack_success(self) -> Outcomes:
        """Attack success where known: assessed and not null, or aborted and true."""
        cells = self.experiment.attacked_cells
        known = np.where(cells.assessed, cells.attack_success >= 0, cells.attack_success == 1)
        return outcomes(
            cells.attack_success.astype(np.int64), cells.expected & known, cells.planned, self.plan.cells,
            len(self.experiment.attacked.run.epochs),
        )

    @cached_property
    def observed(self) -> Flags:
        """Attacked cells that count: an assessed attacked value, and an assessed benign value of the task."""
        return (self.attacked.known > 0) & (self.benign.known[self.plan.cell_task] > 0)

    @cached_property
    def tasks_left_out(self) -> int:
        """Tasks without an assessed benign or attacked value; they leave both arms."""
        has_cell = np.bincount(self.plan.cell_task[self.observed], minlength=self.plan.tasks) > 0
        return int((~has_cell).sum())

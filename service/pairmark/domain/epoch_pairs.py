"""Attacked episodes beside the benign outcome of the same task and epoch number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairmark.domain.evidence import CellTable, Experiment, Flags, Scalar, Signed
from pairmark.domain.plan import Codes


@dataclass(frozen=True, eq=False)
class EpochPairs:
    """Planned, assessed attacked episodes of known utility, one entry each, in ledger order."""

    row: Codes | None
    """Row of the attacked cell table; None where every row is one of these episodes."""
    cell: Codes
    """Attacked plan cell."""
    block: Codes
    """Task and epoch as one number, below `blocks`."""
    blocks: int
    attacked: Flags
    """Utility under attack."""
    benign: Signed
    """Utility of the task's benign episode of the same epoch number: 1, 0, or -1 where there is none of known utility."""

    def column(self, of_table: NDArray[Scalar]) -> NDArray[Scalar]:
        """A column of the attacked cell table as one of these episodes."""
        return of_table if self.row is None else of_table[self.row]

    def rows(self, entries: Codes) -> Codes:
        """Rows of the attacked cell table of some of these episodes."""
        return entries if self.row is None else self.row[entries]

    @property
    def paired(self) -> Flags:
        """Where both outcomes are known."""
        return np.greater_equal(self.benign, 0)


def epoch_pairs(experiment: Experiment) -> EpochPairs:
    """Pair the attacked with the benign arm by task and epoch number."""
    from pairmark.domain.cells import position

    cells, plan, benign = experiment.attacked_cells, experiment.plan, experiment.benign_cells
    numbers = np.array([item.epoch for item in experiment.attacked.run.epochs], dtype=np.int64)
    clean = np.full(plan.tasks * len(numbers), -1, dtype=np.int8)
    at = position(benign.epoch, numbers)
    known = np.flatnonzero(_known(benign) & (at >= 0))
    clean[benign.planned[known] * len(numbers) + at[known]] = benign.utility[known]

    cell, place, attacked, row = cells.planned, cells.epoch_index, cells.utility == 1, None
    known_here = _known(cells)
    if not bool(known_here.all()):
        row = np.flatnonzero(known_here)
        cell, place, attacked = cell[row], place[row], attacked[row]
    block = plan.cell_task[cell]
    block *= len(numbers)
    block += place
    return EpochPairs(row, cell, block, len(clean), attacked, clean[block])


def _known(cells: CellTable) -> Flags:
    return cells.expected & cells.assessed & (cells.utility >= 0)

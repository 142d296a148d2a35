"""Attacked episodes beside the benign outcome of the same task and epoch number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairmark.domain.evidence import CellTable, Experiment, Flags, Signed
from pairmark.domain.plan import Codes


@dataclass(frozen=True, eq=False)
class EpochPairs:
    """Planned, assessed attacked episodes of known utility, one entry each, in ledger order."""

    row: Codes
    """Row of the attacked cell table."""
    cell: Codes
    """Attacked plan cell."""
    block: Codes
    """Task and epoch as one number, below `blocks`."""
    blocks: int
    attacked: Flags
    """Utility under attack."""
    benign: Signed
    """Utility of the task's benign episode of the same epoch number: 1, 0, or -1 where there is none of known utility."""

    @property
    def paired(self) -> Flags:
        """Where both outcomes are known."""
        return np.greater_equal(self.benign, 0)


def epoch_pairs(experiment: Experiment) -> EpochPairs:
    """Pair the attacked with the benign arm by task and epoch number."""
    from pairmark.domain.cells import position

    cells, plan = experiment.attacked_cells, experiment.plan
    numbers = np.array([item.epoch for item in experiment.attacked.run.epochs], dtype=np.int64)
    benign = experiment.benign_cells
    clean = np.full(plan.tasks * len(numbers), -1, dtype=np.int8)
    row = np.flatnonzero(_known(benign))
    at = position(benign.epoch[row], numbers)
    row, at = row[at >= 0], at[at >= 0]
    clean[benign.planned[row] * len(numbers) + at] = benign.utility[row]

    row = np.flatnonzero(_known(cells))
    block = cells.task[row] * len(numbers) + cells.epoch_index[row]
    return EpochPairs(row, cells.planned[row], block, len(clean), cells.utility[row] == 1, clean[block])


def _known(cells: CellTable) -> Flags:
    return cells.expected & cells.assessed & (cells.utility >= 0)

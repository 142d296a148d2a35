"""The cells that two pairs have in common, and their outcomes epoch by epoch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pairmark.app.comparison.pair import CertifiedPair
from pairmark.app.comparison.rates import Rate
from pairmark.domain.comparability import CellMatch, crossing_of
from pairmark.domain.evidence import CellTable, Flags
from pairmark.domain.plan import Codes
from pairmark.stats.crossing import Crossing


@dataclass(frozen=True, eq=False)
class SharedCells:
    """Attacked cells of the left plan and where they stand in the right one; tasks and groups are the left's.

    Two pairs of one suite share all their planned cells; of two suites those that survive.
    """

    left: CertifiedPair
    right: CertifiedPair
    match: CellMatch

    @cached_property
    def planned(self) -> tuple[Codes, Codes]:
        """Indices of the shared cells in the left and in the right plan."""
        here = np.flatnonzero(self.match.cell_survives)
        return here, self.match.cell_to_right[here]

    @cached_property
    def tasks(self) -> tuple[Codes, Codes]:
        """Left and right codes of the tasks whose benign cell is shared."""
        here = np.flatnonzero(self.match.task_survives)
        return here, self.match.task_to_right[here]

    def observed(self, rate: Rate) -> tuple[Codes, Codes]:
        """The shared cells that have a value on both sides."""
        here, there = self.planned
        kept: Flags = rate.observed(self.left.pairing)[here] & rate.observed(self.right.pairing)[there]
        return here[kept], there[kept]

    def crossing(self, here: Codes) -> Crossing | None:
        """Left plan cells as a crossing; None where there are none."""
        plan = self.left.experiment.plan
        chosen = np.zeros(plan.cells, dtype=np.bool_)
        chosen[here] = True
        return crossing_of(plan, chosen)

    def attacked_outcomes(self) -> EpochOutcomes:
        """Utility under attack by shared cell and epoch."""
        here, there = self.planned
        left, right = self.left.experiment, self.right.experiment
        return match_outcomes(
            left.attacked_cells, _places(here, left.plan.cells), right.attacked_cells, _places(there, right.plan.cells)
        )

    def benign_outcomes(self) -> EpochOutcomes:
        """Benign utility by shared task and epoch."""
        here, there = self.tasks
        left, right = self.left.experiment, self.right.experiment
        return match_outcomes(
            left.benign_cells, _places(here, left.plan.tasks), right.benign_cells, _places(there, right.plan.tasks)
        )


@dataclass(frozen=True, eq=False)
class EpochOutcomes:
    """Outcomes of one cell in one epoch, known on both sides: the cell's place among the shared ones, epoch, outcomes."""

    place: Codes
    epoch: Codes
    left: Flags
    right: Flags


def match_outcomes(left: CellTable, left_places: Codes, right: CellTable, right_places: Codes) -> EpochOutcomes:
    """Match the utility of two tables on (place, epoch number). Places are per planned index of a side, -1 for none."""
    numbers = np.unique(np.concatenate([np.unique(left.epoch), np.unique(right.epoch)]))
    size = int(max(left_places.max(initial=-1), right_places.max(initial=-1))) + 1
    here = utility_by_epoch(left, left_places, size, numbers)
    there = utility_by_epoch(right, right_places, size, numbers)
    place, epoch = np.nonzero((here >= 0) & (there >= 0))
    return EpochOutcomes(place, numbers[epoch], here[place, epoch] == 1, there[place, epoch] == 1)


def utility_by_epoch(cells: CellTable, places: Codes, size: int, numbers: Codes) -> NDArray[np.int8]:
    """Utility at [place, epoch], shape (size, epochs); -1 where it is not known.

    `places` gives the place of each planned index, -1 for none; `numbers` are the epoch numbers wanted, ascending.
    """
    table = np.full((size, len(numbers)), -1, dtype=np.int8)
    kept = np.flatnonzero(cells.expected & cells.assessed & (cells.utility >= 0))
    place = places[cells.planned[kept]]
    wanted = (place >= 0) & np.isin(cells.epoch[kept], numbers)
    kept, place = kept[wanted], place[wanted]
    table[place, np.searchsorted(numbers, cells.epoch[kept])] = cells.utility[kept]
    return table


def _places(index: Codes, size: int) -> Codes:
    place = np.full(size, -1, dtype=np.int64)
    place[index] = np.arange(len(index))
    return place

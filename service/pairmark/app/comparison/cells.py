"""The cells that two pairs have in common, and their outcomes epoch by epoch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pairmark.app.comparison.pair import CertifiedPair
from pairmark.app.comparison.rates import ATTACK_SUCCESS_RATE, UTILITY_DROP, Rate, SampledSide
from pairmark.domain.cells import position
from pairmark.domain.comparability import CellMatch
from pairmark.domain.documents.run import Epoch
from pairmark.domain.evidence import CellTable, Flags
from pairmark.domain.plan import Codes
from pairmark.domain.sample import Sample


@dataclass(frozen=True, eq=False)
class SharedSample:
    """Shared cells that have a value on both sides: the left plan's sample, and both sides' outcomes in it."""

    sample: Sample
    left: SampledSide
    right: SampledSide


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

    def sample(self, rate: Rate) -> SharedSample | None:
        """The shared cells that have a value of this rate on both sides; None where none has."""
        return self._success_sample if rate is ATTACK_SUCCESS_RATE else self._utility_sample

    @cached_property
    def _utility_sample(self) -> SharedSample | None:
        return self._made(*self._observed(UTILITY_DROP))

    @cached_property
    def _success_sample(self) -> SharedSample | None:
        return self.shared_sample(*self._observed(ATTACK_SUCCESS_RATE))

    def shared_sample(self, here: Codes, there: Codes) -> SharedSample | None:
        """These cells of the left plan, beside those of the right one; None where there are none."""
        like = self._utility_sample
        return like if like is not None and np.array_equal(here, like.sample.cells) else self._made(here, there)

    def _observed(self, rate: Rate) -> tuple[Codes, Codes]:
        here, there = self.planned
        kept: Flags = rate.observed(self.left.pairing)[here] & rate.observed(self.right.pairing)[there]
        return here[kept], there[kept]

    def _made(self, here: Codes, there: Codes) -> SharedSample | None:
        if not len(here):
            return None
        sample = Sample(self.left.experiment.plan, here)
        return SharedSample(
            sample, SampledSide(self.left.pairing, here, sample), SampledSide(self.right.pairing, there, sample)
        )

    def attacked_outcomes(self) -> EpochOutcomes:
        """Utility under attack by shared cell and epoch."""
        here, there = self.planned
        left, right = self.left.experiment, self.right.experiment
        numbers = epoch_numbers(left.attacked.run.epochs, right.attacked.run.epochs)
        return EpochOutcomes.of(
            numbers,
            utility_by_epoch(left.attacked_cells, left.plan.cells, numbers)[here],
            utility_by_epoch(right.attacked_cells, right.plan.cells, numbers)[there],
        )

    def benign_outcomes(self) -> EpochOutcomes:
        """Benign utility by shared task and epoch."""
        here, there = self.tasks
        left, right = self.left.experiment, self.right.experiment
        numbers = epoch_numbers(left.benign.run.epochs, right.benign.run.epochs)
        return EpochOutcomes.of(
            numbers,
            utility_by_epoch(left.benign_cells, left.plan.tasks, numbers)[here],
            utility_by_epoch(right.benign_cells, right.plan.tasks, numbers)[there],
        )


@dataclass(frozen=True, eq=False)
class EpochOutcomes:
    """Outcomes of one cell in one epoch, known on both sides: the cell's place among the shared ones, epoch, outcomes."""

    place: Codes
    epoch: Codes
    left: Flags
    right: Flags

    @classmethod
    def of(cls, numbers: Codes, left: NDArray[np.int8], right: NDArray[np.int8]) -> EpochOutcomes:
        """From the utility of both sides at [place, epoch]."""
        here, there = left.ravel(), right.ravel()
        found = np.flatnonzero((here >= 0) & (there >= 0))
        place, epoch = np.divmod(found, len(numbers)) if len(numbers) > 1 else (found, np.zeros_like(found))
        return cls(place, numbers[epoch], here[found] == 1, there[found] == 1)


def epoch_numbers(left: tuple[Epoch, ...], right: tuple[Epoch, ...]) -> Codes:
    """The epoch numbers that both sides declare, ascending."""
    return np.array(sorted({item.epoch for item in left} & {item.epoch for item in right}), dtype=np.int64)


def utility_by_epoch(cells: CellTable, planned: int, numbers: Codes) -> NDArray[np.int8]:
    """Utility at [planned index, epoch], shape (planned, epochs); -1 where it is not known. Only of the epochs `numbers`."""
    width = len(numbers)
    table = np.full(planned * width, -1, dtype=np.int8)
    column = position(cells.epoch, numbers)
    kept = np.flatnonzero(cells.expected & cells.assessed & (cells.utility >= 0) & (column >= 0))
    table[cells.planned[kept] * width + column[kept]] = cells.utility[kept]
    return table.reshape(planned, width)

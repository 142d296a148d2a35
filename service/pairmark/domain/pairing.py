"""The pair as numbers: per task and per attacked cell, successes and how many epochs they are out of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pairmark.domain.evidence import CellTable, Experiment, Flags
from pairmark.domain.plan import Codes, Plan
from pairmark.domain.sample import Sample, sample_of

if TYPE_CHECKING:
    from pairmark.domain.contrast import Contrast
    from pairmark.domain.epoch_pairs import EpochPairs


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Integer sums over epochs, one entry per planned cell: `successes` out of `known`; `expected` = declared epochs."""

    successes: Codes
    known: Codes
    expected: int

    def at(self, index: Codes) -> Outcomes:
        """Those of some cells, in the order of `index`."""
        return Outcomes(self.successes[index], self.known[index], self.expected)

    def of(self, sample: Sample) -> Outcomes:
        """Those of a sample's cells, where these are of all attacked cells."""
        return self if sample.is_whole else self.at(sample.cells)


def outcomes(value: Flags, counted: Flags, planned: Codes, cells: int, expected: int) -> Outcomes:
    """Sum `value` and `counted` over epochs per planned cell; `value` is looked at only where `counted`."""
    return Outcomes(
        successes=count_in(counted & value, planned, cells),
        known=count_in(counted, planned, cells),
        expected=expected,
    )


def count_in(rows: Flags, code: Codes, size: int) -> Codes:
    """How many of the marked rows have each code, shape (size,); codes of marked rows are at least 0."""
    if bool(rows.all()):
        return np.bincount(code, minlength=size)
    # Indices, since taking by a mask costs thrice as much where the mask looks random.
    return np.bincount(code[np.flatnonzero(rows)], minlength=size)


@dataclass(frozen=True, eq=False)
class Pairing:
    """What metrics are computed from. Benign arrays have one entry per task, attacked ones one per attacked plan cell.

    Everything is computed once, when first asked for.
    """

    experiment: Experiment
    seed: int = 0
    """Of the permutations behind `tags`."""

    @property
    def plan(self) -> Plan:
        return self.experiment.plan

    def _utility(self, cells: CellTable, count: int, expected: int) -> Outcomes:
        counted = cells.expected & cells.assessed & (cells.utility >= 0)
        return outcomes(cells.utility == 1, counted, cells.planned, count, expected)

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
        succeeded = cells.attack_success == 1
        known = succeeded | (cells.assessed & (cells.attack_success == 0))
        epochs = len(self.experiment.attacked.run.epochs)
        return outcomes(succeeded, cells.expected & known, cells.planned, self.plan.cells, epochs)

    @cached_property
    def blocked(self) -> int:
        """Attacked cells × epochs that a provider's filter stopped."""
        cells = self.experiment.attacked_cells
        return int(np.count_nonzero(cells.expected & cells.blocked))

    @cached_property
    def observed(self) -> Flags:
        """Attacked cells that count: an assessed attacked value, and an assessed benign value of the task."""
        return (self.attacked.known > 0) & (self.benign.known[self.plan.cell_task] > 0)

    @cached_property
    def sample(self) -> Sample | None:
        """The observed cells: what benign utility, utility under attack and their difference are taken over."""
        return sample_of(self.plan, self.observed)

    @cached_property
    def success_sample(self) -> Sample | None:
        """The cells whose attack success is known in an epoch, whatever the benign arm holds."""
        return self.sample_over(self.attack_success.known > 0)

    @cached_property
    def planned_sample(self) -> Sample | None:
        """Every planned cell; None where the suite plans none."""
        return self.sample_over(np.ones(self.plan.cells, dtype=np.bool_))

    def sample_over(self, kept: Flags) -> Sample | None:
        """The attacked cells that `kept` marks; the observed sample itself, with all that it knows, where it is these."""
        if self.sample is not None and np.array_equal(kept, self.observed):
            return self.sample
        return sample_of(self.plan, kept)

    @cached_property
    def contrast(self) -> Contrast | None:
        """Both utilities and their difference; None without an observed cell."""
        from pairmark.domain.contrast import Contrast

        return None if self.sample is None else Contrast(self, self.sample)

    @cached_property
    def tasks_left_out(self) -> int:
        """Tasks without an assessed benign or attacked value; they leave both arms."""
        return self.plan.tasks - (0 if self.sample is None else self.sample.tasks)

    @cached_property
    def epoch_pairs(self) -> EpochPairs:
        """Attacked episodes beside the benign outcome of the same task and epoch."""
        from pairmark.domain.epoch_pairs import epoch_pairs

        return epoch_pairs(self.experiment)

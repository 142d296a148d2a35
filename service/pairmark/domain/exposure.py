"""What the tasks done under attack met: the injection, a defense that stopped it, or nothing at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairmark.domain.evidence import CellTable, Flags, Signed
from pairmark.domain.pairing import Pairing
from pairmark.domain.plan import Codes


@dataclass(frozen=True)
class ExposureSplit:
    """Episodes completed under attack. The five add up to all of them."""

    resisted: int
    """Delivered."""
    blocked: int
    """Not delivered here, delivered to the undefended agent."""
    inert: int
    """Delivered to neither."""
    baseline_unknown: int
    """Not delivered here; whether to the undefended agent is unknown."""
    delivery_unknown: int
    """Whether delivered here is unknown."""


def exposure_split(pairing: Pairing, baseline: CellTable) -> ExposureSplit:
    """Split completions by delivery here and in the baseline.

    The baseline's episode of the same cell and epoch number decides; where that is unknown, whether any of the cell's
    baseline episodes was delivered.
    """
    pairs, attacked = pairing.epoch_pairs, pairing.experiment.attacked_cells
    completed = pairs.row[pairs.attacked]
    delivered = attacked.delivered[completed]
    missed = completed[delivered == 0]
    undefended = _delivered_in(baseline, attacked.planned[missed], attacked.epoch[missed], pairing.plan.cells)
    return ExposureSplit(
        resisted=int(np.count_nonzero(delivered == 1)),
        blocked=int(np.count_nonzero(undefended == 1)),
        inert=int(np.count_nonzero(undefended == 0)),
        baseline_unknown=int(np.count_nonzero(undefended == -1)),
        delivery_unknown=int(np.count_nonzero(delivered == -1)),
    )


def _delivered_in(baseline: CellTable, cell: Codes, epoch: Codes, cells: int) -> Signed:
    """Delivery to the baseline's agent at each (planned cell, epoch number): 1, 0 or -1 unknown."""
    known: Flags = baseline.expected & baseline.assessed & (baseline.delivered >= 0)
    numbers, at = np.unique(baseline.epoch[known], return_inverse=True)
    table = np.full((cells, len(numbers)), -1, dtype=np.int8)
    table[baseline.planned[known], at] = baseline.delivered[known]
    in_any: Signed = table.max(axis=1, initial=-1)[cell]
    if not len(numbers):
        return in_any
    place = np.minimum(np.searchsorted(numbers, epoch), len(numbers) - 1)
    same = np.where(numbers[place] == epoch, table[cell, place], -1)
    return np.where(same >= 0, same, in_any)

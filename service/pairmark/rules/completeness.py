"""Whether an arm holds exactly the planned cells × its declared epochs, each once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pairmark.domain.counts import planned_cells
from pairmark.domain.documents.report import EvidenceValue
from pairmark.domain.evidence import Arm, CellTable, Experiment, Flags
from pairmark.domain.plan import Codes
from pairmark.rules.base import FIRST_CELLS
from pairmark.rules.cell_names import first_cells, planned_cell_name
from pairmark.rules.wording import counted, listed

PHRASES = {
    "missing": "missing",
    "extra": "not planned",
    "undeclared_epoch": "of an undeclared epoch",
    "repeated": "repeated",
}


@dataclass(frozen=True)
class Deviation:
    """Cells that deviate from the plan in one way: how many, and the first of them by name."""

    kind: str
    count: int
    cells: tuple[str, ...]


def deviations(experiment: Experiment, arm: Arm) -> tuple[Deviation, ...]:
    """Every way in which an arm deviates from its plan; none where it is complete.

    missing: planned, and not there. extra: there, and not planned. undeclared_epoch: planned, in an epoch the run does
    not declare. repeated: the same attempt at a cell more than once.
    """
    cells = experiment.cells_of(arm)
    extra = cells.planned < 0
    marked: tuple[tuple[str, Flags], ...] = (
        ("extra", extra),
        ("undeclared_epoch", ~extra & (cells.epoch_index < 0)),
        ("repeated", cells.repeated),
    )
    found = [
        Deviation(kind, int(picked.sum()), first_cells(arm, cells, picked)) for kind, picked in marked if picked.any()
    ]
    missing = planned_cells(experiment, arm) - int(cells.expected.sum())
    if missing:
        keys = _first_missing(experiment, arm, cells)
        names = tuple(planned_cell_name(experiment.plan, arm, key) for key in keys)
        found.insert(0, Deviation("missing", missing, names))
    return tuple(found)


def _first_missing(experiment: Experiment, arm: Arm, cells: CellTable) -> list[int]:
    """Keys of the first planned cells × epochs that are not there, in plan order."""
    epochs = len(arm.run.epochs)
    there: Codes = np.sort(cells.planned[cells.expected] * epochs + cells.epoch_index[cells.expected])
    edges = np.concatenate([[-1], there, [planned_cells(experiment, arm)]])
    keys: list[int] = []
    for gap in np.flatnonzero(np.diff(edges) > 1)[:FIRST_CELLS].tolist():
        room = FIRST_CELLS - len(keys)
        keys.extend(range(int(edges[gap]) + 1, min(int(edges[gap + 1]), int(edges[gap]) + 1 + room)))
    return keys


def deviation_texts(arm: Arm, found: tuple[Deviation, ...]) -> list[str]:
    """One phrase per deviation, for a message."""
    return [
        f"{counted(each.count, 'cell')} {PHRASES[each.kind]} in the {arm.role} arm ({listed(each.cells, each.count)})"
        for each in found
    ]


def deviation_evidence(found: tuple[Deviation, ...]) -> dict[str, EvidenceValue]:
    """Count and first cells, by kind of deviation."""
    return {each.kind: {"count": each.count, "cells": each.cells} for each in found}


def aborted_share(experiment: Experiment, arm: Arm) -> tuple[int, Fraction | None]:
    """Aborted cells, and their share of planned cells × epochs; None where nothing is planned."""
    cells = experiment.cells_of(arm)
    aborted = int((cells.expected & cells.aborted).sum())
    planned = planned_cells(experiment, arm)
    return aborted, Fraction(aborted, planned) if planned else None

"""Naming cells in findings: `task × injection, epoch 1`; a benign cell is `task, epoch 1`."""

from __future__ import annotations

import numpy as np

from pairmark.domain.evidence import Arm, CellTable, Flags
from pairmark.domain.plan import Codes, Plan
from pairmark.rules.base import FIRST_CELLS


def cell_name(task_id: str, injection_id: str | None, epoch: int) -> str:
    """One cell, in the words a person knows it by."""
    return f"{task_id}, epoch {epoch}" if injection_id is None else f"{task_id} × {injection_id}, epoch {epoch}"


def first_lines(arm: Arm, rows: Codes) -> tuple[str, ...]:
    """The cells that the first of these ledger rows belong to."""
    picked = arm.ledger[rows[:FIRST_CELLS]].select("task_id", "injection_id", "epoch")
    return tuple(cell_name(*row) for row in picked.iter_rows())


def first_cells(arm: Arm, cells: CellTable, picked: Flags) -> tuple[str, ...]:
    """The first of the cells that `picked` marks."""
    return first_lines(arm, cells.rows_of(np.flatnonzero(picked)[:FIRST_CELLS]))


def planned_cell_name(plan: Plan, arm: Arm, key: int) -> str:
    """A planned cell by its key: planned index × declared epochs + epoch index."""
    planned, at = divmod(key, len(arm.run.epochs))
    epoch = arm.run.epochs[at].epoch
    if arm.role == "benign":
        return cell_name(plan.task_ids[planned], None, epoch)
    task = plan.task_ids[int(plan.cell_task[planned])]
    return cell_name(task, plan.injection_ids[int(plan.cell_injection[planned])], epoch)

"""From a ledger to its cell table: codes instead of ids, the last attempt of every cell, nulls as -1."""

from __future__ import annotations

from typing import cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pairmark.domain.documents.episode import STATUSES
from pairmark.domain.evidence import NO_INJECTION, Arm, CellTable
from pairmark.domain.plan import DENSE_LIMIT, Codes, Plan


def _codes(column: pl.Series, ids: tuple[str, ...], null_code: int) -> Codes:
    """Code of each id, -1 where it is not among `ids`, `null_code` where null."""
    if not ids:
        coded = pl.Series(np.full(len(column), -1, dtype=np.int64))
    else:
        coded = column.cast(pl.Enum(ids), strict=False).to_physical().cast(pl.Int64).fill_null(-1)
    found = coded.to_numpy().astype(np.int64)
    if column.null_count():
        found = np.where(column.is_null().to_numpy(), null_code, found)
    return found


def _signed(column: pl.Series) -> NDArray[np.int8]:
    return cast("NDArray[np.int8]", column.cast(pl.Int8).fill_null(-1).to_numpy())


def _starts(frame: pl.DataFrame, task: Codes, injection: Codes, epoch: Codes) -> NDArray[np.bool_]:
    """True where a row opens a new cell (the frame is in canonical order)."""
    rows = len(task)
    starts = np.ones(rows, dtype=np.bool_)
    if rows < 2:
        return starts
    same = (task[1:] == task[:-1]) & (injection[1:] == injection[:-1]) & (epoch[1:] == epoch[:-1])
    if bool((task == -1).any() or (injection == -1).any()):  # codes do not tell unknown ids apart
        for name in ("task_id", "injection_id"):
            ids = frame[name]
            same &= ids[1:].eq_missing(ids[:-1]).to_numpy()
    starts[1:] = ~same
    return starts


def position(epoch: Codes, declared: Codes) -> Codes:
    """Where each epoch stands among the declared ones, -1 where it is not among them."""
    if not len(declared):
        return np.full(len(epoch), -1, dtype=np.int64)
    highest = int(declared.max())
    if highest <= DENSE_LIMIT:  # a table is faster than a search, as long as it is small
        table = np.full(highest + 2, -1, dtype=np.int64)
        table[declared] = np.arange(len(declared))
        return table[np.clip(epoch, 0, highest + 1)]
    order = np.argsort(declared, kind="stable")
    place = np.minimum(np.searchsorted(declared[order], epoch), len(declared) - 1)
    return np.where(declared[order][place] == epoch, order[place], -1)


def cell_table(arm: Arm, plan: Plan) -> CellTable:
    """One row per cell and epoch of `arm`. The ledger must be in canonical order."""
    frame = arm.ledger
    task = _codes(frame["task_id"], plan.task_ids, -1)
    injection = _codes(frame["injection_id"], plan.injection_ids, NO_INJECTION)
    epoch = frame["epoch"].to_numpy().astype(np.int64)
    attempt = frame["attempt"].to_numpy()
    starts = _starts(frame, task, injection, epoch)
    first = np.flatnonzero(starts)
    last = np.append(first[1:], len(task)) - 1 if len(first) else first
    lines = last - first + 1
    picked, repeated = frame, np.zeros(len(first), dtype=np.bool_)
    if len(first) < len(task):
        again = np.zeros(len(task), dtype=np.int64)
        again[1:] = (~starts[1:]) & (attempt[1:] == attempt[:-1])
        repeated = np.add.reduceat(again, first) > 0
        picked, task, injection, epoch = frame[last], task[last], injection[last], epoch[last]
    if arm.role == "benign":
        planned = np.where(injection == NO_INJECTION, task, -1)
    else:
        planned = plan.attacked_cell_of(task, injection)
    epoch_index = position(epoch, np.array([item.epoch for item in arm.run.epochs], dtype=np.int64))
    status = picked["status"].cast(pl.Enum(STATUSES)).to_physical().cast(pl.Int8).to_numpy()
    return CellTable(
        task=task,
        injection=injection,
        planned=planned,
        epoch=epoch,
        epoch_index=epoch_index,
        row=last,
        status=status,
        utility=_signed(picked["utility"]),
        attack_success=_signed(picked["attack_success"]),
        delivered=_signed(picked["delivered"]),
        attacker_actions=picked["attacker_actions"].fill_null(-1).to_numpy(),
        lines=lines,
        repeated=repeated,
    )

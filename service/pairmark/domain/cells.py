"""From a ledger to its cell table: codes instead of ids, the last attempt of every cell, nulls as -1."""

from __future__ import annotations

from typing import cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pairmark.domain.documents.episode import STATUSES
from pairmark.domain.evidence import NO_INJECTION, Arm, CellTable, Flags, Stretches
from pairmark.domain.plan import DENSE_LIMIT, Codes, Plan

_OUTCOMES = ("status", "utility", "attack_success", "delivered", "attacker_actions")


def _begins(frame: pl.DataFrame) -> Flags:
    """True in the first of consecutive rows of one task and injection."""
    begins = np.ones(frame.height, dtype=np.bool_)
    if frame.height > 1:
        task, injection = (frame[name].rle_id().to_numpy() for name in ("task_id", "injection_id"))
        begins[1:] = (task[1:] != task[:-1]) | (injection[1:] != injection[:-1])
    return begins


def _codes(column: pl.Series, ids: tuple[str, ...], null_code: int) -> Codes:
    """Code of each id, -1 where it is not among `ids`, `null_code` where null."""
    if not ids:
        found: Codes = np.full(len(column), -1, dtype=np.int64)
    else:
        coded = column.cast(pl.Enum(ids), strict=False).to_physical().cast(pl.Int64)
        known = coded.fill_null(-1) if coded.null_count() else coded
        found = known.to_numpy().astype(np.int64, copy=False)
    if column.null_count():
        found = np.where(column.is_null().to_numpy(), null_code, found)
    return found


def _codes_by_run(column: pl.Series, ids: tuple[str, ...], null_code: int) -> Codes:
    """The same for a column in which equal ids stand together."""
    run = column.rle_id().to_numpy()
    first = np.searchsorted(run, np.arange(int(run[-1]) + 1)) if len(run) else np.zeros(0, dtype=np.int64)
    codes: Codes = _codes(column.gather(first), ids, null_code)[run]
    return codes


def _signed(column: pl.Series) -> NDArray[np.int8]:
    return cast("NDArray[np.int8]", column.cast(pl.Int8).fill_null(-1).to_numpy())


def position(epoch: Codes, declared: Codes) -> Codes:
    """Where each epoch stands among the declared ones, -1 where it is not among them."""
    if not len(declared):
        return np.full(len(epoch), -1, dtype=np.int64)
    highest = int(declared.max())
    if highest <= DENSE_LIMIT:  # a table is faster than a search, as long as it is small
        table = np.full(highest + 2, -1, dtype=np.int64)
        table[declared] = np.arange(len(declared))
        return table.take(epoch, mode="clip")  # no epoch is 0, and above the highest none is declared
    order = np.argsort(declared, kind="stable")
    place = np.minimum(np.searchsorted(declared[order], epoch), len(declared) - 1)
    return np.where(declared[order][place] == epoch, order[place], -1)


def cell_table(arm: Arm, plan: Plan) -> CellTable:
    """One row per cell and epoch of `arm`. The ledger must be in canonical order.

    The ledger is sorted, so what depends on ids is looked up once for consecutive rows. Columns that mostly say nothing
    (attempts) are made only where they say something: fresh memory is what costs most here.
    """
    frame = arm.ledger
    begins = _begins(frame)
    first = np.flatnonzero(begins)
    heads = frame if len(first) == frame.height else frame.select("task_id", "injection_id")[first]
    task = _codes_by_run(heads["task_id"], plan.task_ids, -1)
    injection = _codes(heads["injection_id"], plan.injection_ids, NO_INJECTION)
    if arm.role == "benign":
        planned = np.where(injection == NO_INJECTION, task, -1)
    else:
        planned = plan.attacked_cell_of(task, injection)
    of_row = np.cumsum(begins, dtype=np.int32)
    of_row -= 1
    epoch = frame["epoch"].to_numpy().astype(np.int64, copy=False)
    starts = begins
    starts[1:] |= epoch[1:] != epoch[:-1]
    last, lines, picked = None, None, frame.select(_OUTCOMES)
    repeated: Flags = np.broadcast_to(np.zeros(1, dtype=np.bool_), len(starts))
    if not bool(starts.all()):
        last, lines, repeated = _attempts(starts, frame["attempt"].to_numpy())
        of_row, epoch, picked = of_row[last], epoch[last], picked[last]
    blocked = (pl.col("status") == "provider_block") & pl.col("utility")  # what a filter stopped is not done, whatever its check says
    return CellTable(
        stretches=Stretches(of_row, task, injection),
        planned=planned[of_row],
        epoch=epoch,
        epoch_index=position(epoch, np.array([item.epoch for item in arm.run.epochs], dtype=np.int64)),
        status=picked["status"].cast(pl.Enum(STATUSES)).to_physical().cast(pl.Int8).to_numpy(),
        utility=_signed(picked.select(pl.col("utility") & ~blocked).to_series()),
        attack_success=_signed(picked["attack_success"]),
        delivered=_signed(picked["delivered"]),
        actions=picked["attacker_actions"],
        last=last,
        line_counts=lines,
        repeated=repeated,
    )


def _attempts(starts: Flags, attempt: Codes) -> tuple[Codes, Codes, Flags]:
    """Of each cell: its last row, its number of rows, and whether two of them have one attempt number."""
    first = np.flatnonzero(starts)
    last = np.append(first[1:], len(starts)) - 1
    again = np.zeros(len(starts), dtype=np.int64)
    again[1:] = (~starts[1:]) & (attempt[1:] == attempt[:-1])
    return last, last - first + 1, np.add.reduceat(again, first) > 0

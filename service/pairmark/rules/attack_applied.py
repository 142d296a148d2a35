"""Rule `attack-applied`: attacked transcripts are not benign ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pairmark.domain.documents.report import EvidenceValue
from pairmark.domain.evidence import Arm, CellTable, Flags
from pairmark.domain.plan import Codes
from pairmark.domain.world import World
from pairmark.rules.base import Context, Judgement, NoParams, Rule
from pairmark.rules.cell_names import first_cells
from pairmark.rules.wording import counted, failed, listed, passed

EXPECTED = "no delivered attacked cell, and not all attacked cells, to have a transcript of the benign arm"
TABLE_BITS = 22
"""Bits of a hash that are looked up at a time: a small table, which lets one in five of a million others through."""

AT_A_TIME = 2**15

Hashes = NDArray[np.uint64]

REMEDY = (
    "the attack was not applied to these cells: check the attack's name in the harness, and run the attacked arm again"
)


def judge(context: Context, params: NoParams) -> Judgement:  # noqa: ARG001
    """Looks up each attacked cell's transcript digest among the benign ones of its task, in any epoch."""
    attacked, cells = context.experiment.attacked, context.experiment.attacked_cells
    digests = attacked.ledger["transcript_digest"]
    known = cells.last_of(digests.is_not_null().to_numpy())
    recorded = int(known.sum())
    benign = context.experiment.benign.ledger.select("task_id", "transcript_digest")
    if benign["transcript_digest"].null_count():
        benign = benign.drop_nulls()
    evidence: dict[str, EvidenceValue] = {"recorded": {"benign": benign.height, "attacked": recorded}}
    if recorded == 0 or benign.height == 0:
        where = [name for name, count in (("benign", benign.height), ("attacked", recorded)) if count == 0]
        return Judgement(
            "not_applicable", f"no transcript digest is recorded in the {' and the '.join(where)} arm", evidence
        )
    same = _benign_transcript(attacked, cells, benign)
    despite = same & (cells.delivered == 1)
    found = []
    for key, picked in (("benign_transcript", same), ("benign_transcript_though_delivered", despite)):
        evidence[key] = {"count": int(picked.sum()), "cells": first_cells(attacked, cells, picked)}
    if despite.any():
        number = int(despite.sum())
        names = first_cells(attacked, cells, despite)
        found.append(f"{counted(number, 'delivered cell')} with a benign transcript ({listed(names, number)})")
    if int(same.sum()) == recorded:
        found.append(f"a benign transcript in all {counted(recorded, 'attacked cell')} that record one")
    if found:
        return failed(EXPECTED, found, REMEDY, evidence)
    alike = int(same.sum())
    equal = "none equals a benign one" if alike == 0 else f"{alike} equal a benign one, only where nothing is shown delivered"
    return passed(f"{counted(recorded, 'attacked transcript')}: {equal}", evidence)


def _benign_transcript(attacked: Arm, cells: CellTable, benign: pl.DataFrame) -> Flags:
    """Cells whose transcript digest a benign episode of the same task has."""
    ledger = attacked.ledger.select("task_id", "transcript_digest")
    same = np.zeros(len(cells), dtype=np.bool_)
    # Hashes first: digests of two arms seldom meet, and where their hashes do, digest and task decide.
    here = cells.last_of(ledger["transcript_digest"].hash().to_numpy())
    candidates = _meeting(here, benign["transcript_digest"].hash().to_numpy())
    if len(candidates):
        benign_of_task = benign.unique().with_columns(pl.lit(True).alias("same"))
        joined = ledger[cells.rows_of(candidates)].join(
            benign_of_task, on=["task_id", "transcript_digest"], how="left", maintain_order="left"
        )
        same[candidates] = joined["same"].fill_null(False).to_numpy()
    return same


def _meeting(hashes: Hashes, others: Hashes) -> Codes:
    """Where a hash is one of the others, ascending. Some bits, then others, leave few to look up whole."""
    present = np.zeros(2**TABLE_BITS, dtype=np.bool_)
    left = _marked(present, others, hashes, 0)
    right = _marked(present, hashes[left], others, 0)
    left = left[_marked(present, others[right], hashes[left], 64 - TABLE_BITS)]
    right = right[_marked(present, hashes[left], others[right], 64 - TABLE_BITS)]
    return left[np.isin(hashes[left], others[right])]


def _marked(present: Flags, places: Hashes, wanted: Hashes, shift: int) -> Codes:
    """Which of the wanted have the same bits, from `shift` up, as one of the places; `present` is a table to mark them in."""
    present[:] = False
    for some in _bits(places, shift):
        present[some] = True
    found = [present[some] for some in _bits(wanted, shift)]
    return np.flatnonzero(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def _bits(hashes: Hashes, shift: int) -> Iterator[Codes]:
    """Bits of the hashes, some at a time: fresh memory for all at once would cost more than the bits do."""
    for start in range(0, len(hashes), AT_A_TIME):
        yield ((hashes[start : start + AT_A_TIME] >> np.uint64(shift)) & np.uint64(2**TABLE_BITS - 1)).view(np.int64)


def _same_as_benign(world: World, where: pl.Expr) -> World:
    benign = world.frame("benign")
    digests = dict(zip(benign["task_id"], benign["transcript_digest"], strict=True))
    return world.set("attacked", where, transcript_digest=pl.col("task_id").replace_strict(digests))


RULE = Rule(
    id="attack-applied",
    version=1,
    title="attacked cells do not repeat benign transcripts",
    why="An attacked arm whose injections were never put in is the benign arm over again, and shows no drop.",
    source="a delivered injection stands in the transcript, so its digest cannot be that of a transcript without it",
    remedy=REMEDY,
    judge=judge,
    passing=lambda world: _same_as_benign(world, pl.col("delivered").not_()),
    failing=lambda world: _same_as_benign(world, pl.col("delivered")),
)

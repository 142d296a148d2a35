"""Rule `content-matches`: what the episodes ran is what the manifest lists."""

from __future__ import annotations

import numpy as np
import polars as pl

from pairmark.domain.documents.report import EvidenceValue
from pairmark.domain.evidence import Arm
from pairmark.domain.world import World
from pairmark.rules.base import Context, Judgement, NoParams, Rule
from pairmark.rules.cell_names import first_lines
from pairmark.rules.wording import counted, failed, listed, passed

EXPECTED = "every recorded task digest to be the manifest's"
REMEDY = "the task of these cells is not the one that the manifest lists: give the manifest they ran, or run them again"


def judge(context: Context, params: NoParams) -> Judgement:  # noqa: ARG001
    """Compares every recorded `task_digest`, of every arm and attempt, with the manifest's for that task."""
    listed_digests = pl.DataFrame(
        {
            "task_id": context.experiment.plan.task_ids,
            "expected": [task.digest for task in context.experiment.suite.tasks],
        },
        schema={"task_id": pl.String, "expected": pl.String},
    )
    found: list[str] = []
    evidence: dict[str, EvidenceValue] = {}
    recorded = 0
    for arm in context.experiment.arms:
        known = arm.ledger.height - arm.ledger["task_digest"].null_count()
        recorded += known
        rows = _other_content(listed_digests, arm)
        names = first_lines(arm, rows)
        evidence[arm.role] = {"recorded": known, "mismatched": len(rows), "cells": names}
        if len(rows):
            found.append(f"{counted(len(rows), 'other digest')} in the {arm.role} arm ({listed(names, len(rows))})")
    if found:
        return failed(EXPECTED, found, REMEDY, evidence)
    if recorded == 0:
        return passed("no episode records a task digest, so none differs from the manifest's", evidence)
    return passed(f"{counted(recorded, 'recorded task digest')}, all the manifest's", evidence)


def _other_content(listed_digests: pl.DataFrame, arm: Arm) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Rows whose recorded digest is not the manifest's; a task that the manifest does not list has none."""
    task, digest = arm.ledger["task_id"], arm.ledger["task_digest"]
    # Lines of one task stand together and mostly agree: only where task or digest changes is a look-up needed.
    changes = np.ones(arm.ledger.height, dtype=np.bool_)
    if arm.ledger.height > 1:
        changes[1:] = (task[1:].ne_missing(task[:-1]) | digest[1:].ne_missing(digest[:-1])).to_numpy()
    starts = np.flatnonzero(changes)
    looked_up = (
        pl.DataFrame({"task_id": task[starts], "found": digest[starts]})
        .join(listed_digests, on="task_id", how="left", maintain_order="left")
        .select(pl.col("found").is_not_null() & pl.col("found").ne_missing(pl.col("expected")))
        .to_series()
        .to_numpy()
    )
    return np.flatnonzero(np.repeat(looked_up, np.diff(np.append(starts, arm.ledger.height))))


def _permuted(world: World) -> World:
    turned = {"task_000": "task_001", "task_001": "task_000"}
    digests = {task["id"]: task["digest"] for task in world.suite["tasks"]}
    swapped = pl.col("task_id").replace(turned).replace_strict(digests)
    return world.set("benign", pl.col("task_id").is_in(list(turned)), task_digest=swapped)


RULE = Rule(
    id="content-matches",
    version=1,
    title="every recorded task digest is the manifest's",
    why="The same ids in another order, or with edited prompts, fill the plan without being the planned tasks.",
    source="task ids of public suites are positions (user_task_0 ...), which shift when a task is put in or taken out",
    remedy=REMEDY,
    judge=judge,
    passing=lambda world: world.set("pair", 3, task_digest=None),
    failing=_permuted,
)

"""Rule `attempts-honest`: only what failed for other reasons than the agent was tried again."""

from __future__ import annotations

import numpy as np
import polars as pl

from pairmark.domain.documents.episode import ABORTED
from pairmark.domain.documents.report import EvidenceValue
from pairmark.domain.evidence import Arm, CellTable
from pairmark.domain.plan import Codes
from pairmark.domain.world import World
from pairmark.rules.base import Context, Judgement, NoParams, Rule
from pairmark.rules.cell_names import first_lines
from pairmark.rules.wording import counted, failed, listed, passed

EXPECTED = "each cell's attempts numbered from 1 without a gap, every one but the last an infra_error or cancelled"
REMEDY = (
    "hand in every attempt that was made; the first that is not an infrastructure failure is the episode, so take out"
    " later ones"
)


def judge(context: Context, params: NoParams) -> Judgement:  # noqa: ARG001
    """Looks at every attempt in every arm; `retries.max_attempts` is recorded in the finding, not judged."""
    found: list[str] = []
    evidence: dict[str, EvidenceValue] = {}
    for arm in context.experiment.arms:
        cells = context.experiment.cells_of(arm)
        retried, missing = _dishonest(arm, cells)
        again, gaps = first_lines(arm, retried), first_lines(arm, missing)
        evidence[arm.role] = {
            "attempts": arm.ledger.height,
            "cells": len(cells),
            "max_attempts": arm.run.retries.max_attempts,
            "retried_after_an_outcome": {"count": len(retried), "cells": again},
            "earlier_attempt_missing": {"count": len(missing), "cells": gaps},
        }
        if len(retried):
            found.append(
                f"{counted(len(retried), 'attempt')} with an outcome tried again in the {arm.role} arm"
                f" ({listed(again, len(retried))})"
            )
        if len(missing):
            found.append(
                f"{counted(len(missing), 'attempt')} in the {arm.role} arm without the one before"
                f" ({listed(gaps, len(missing))})"
            )
    if found:
        return failed(EXPECTED, found, REMEDY, evidence)
    return passed("every attempt is shown, and only infrastructure failures were tried again", evidence)


def _dishonest(arm: Arm, cells: CellTable) -> tuple[Codes, Codes]:
    """Rows that had an outcome and were tried again, and rows whose attempt before is not there."""
    attempt = arm.ledger["attempt"].to_numpy()
    if len(cells) == arm.ledger.height:
        return np.zeros(0, dtype=np.int64), np.flatnonzero(attempt != 1)
    opens = np.zeros(len(attempt), dtype=np.bool_)
    opens[cells.row - cells.lines + 1] = True
    before = np.where(opens, 0, np.concatenate([[0], attempt[:-1]]))
    earlier = attempt < np.repeat(attempt[cells.row], cells.lines)
    assessed = ~arm.ledger.select(pl.col("status").is_in(sorted(ABORTED))).to_series().to_numpy()
    return np.flatnonzero(earlier & assessed), np.flatnonzero(attempt > before + 1)


def _retried_failure(world: World) -> World:
    return world.set("attacked", 1, utility=False).repeat("attacked", 1, attempt=2, utility=True)


def _retried_error(world: World) -> World:
    first = world.repeat("attacked", 1, attempt=2)
    return first.abort("attacked", 1)


RULE = Rule(
    id="attempts-honest",
    version=1,
    title="every attempt is shown, and only infrastructure failures were tried again",
    why="Trying again until a cell passes turns every rate into the rate of the luckiest attempt.",
    source="pass-at-any reporting: with three attempts, a task solved half of the time reads as solved in 7 of 8",
    remedy=REMEDY,
    judge=judge,
    passing=_retried_error,
    failing=_retried_failure,
)

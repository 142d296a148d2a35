"""Rule `aborts-within-limits`: few aborted cells, about as many in both arms, and every task still assessed."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import numpy as np
import polars as pl
from pydantic import Field

from pairmark.domain.documents.base import Strict
from pairmark.domain.documents.report import EvidenceValue
from pairmark.domain.evidence import Arm, CellTable, Experiment
from pairmark.domain.pairing import count_in
from pairmark.rules.base import FIRST_CELLS, Context, Judgement, Rule, exact
from pairmark.rules.cell_names import first_lines
from pairmark.rules.completeness import aborted_share
from pairmark.rules.wording import counted, failed, first, listed, passed, share_text
from pairmark.stats.exact import decimal_string

REMEDY = "run the aborted cells again as next attempts"


class AbortLimits(Strict):
    """Largest aborted share of an arm, and largest difference of the two shares; both of planned cells × epochs."""

    max_share: Annotated[float, Field(ge=0, le=1)]
    max_gap: Annotated[float, Field(ge=0, le=1)]


def judge(context: Context, params: AbortLimits) -> Judgement:
    """Excluded is excluded, but only so much of it. A gap is forgiven where one aborted cell makes it."""
    experiment = context.experiment
    found: list[str] = []
    evidence: dict[str, EvidenceValue] = {
        "max_share": str(exact(params.max_share)),
        "max_gap": str(exact(params.max_gap)),
    }
    shares: list[tuple[Fraction, int]] = []
    rerun: list[str] = []
    to_rerun = 0
    for arm in (experiment.benign, experiment.attacked):
        aborted, share = aborted_share(experiment, arm)
        names = _next_attempts(arm, experiment.cells_of(arm))
        rerun += names
        to_rerun += aborted
        without = _unassessed_tasks(experiment, arm)
        evidence[arm.role] = {
            "aborted": aborted,
            "share": share_text(share),
            "rerun": names,
            "tasks_without_assessed_cell": {"count": len(without), "tasks": first(without)},
        }
        if share is None:
            found.append(f"no planned cell in the {arm.role} arm, so no share of it")
        else:
            shares.append((share, aborted))
            if share > exact(params.max_share):
                found.append(
                    f"{counted(aborted, 'aborted cell')} in the {arm.role} arm, a share of {decimal_string(share)}"
                )
        if without:
            found.append(
                f"{counted(len(without), 'task')} without an assessed cell in the {arm.role} arm ({listed(without)})"
            )
    gap = abs(shares[0][0] - shares[1][0]) if len(shares) == 2 else None
    evidence["gap"] = share_text(gap)
    if gap is not None and gap > exact(params.max_gap):
        forgiven = max(shares)[1] == 1
        evidence["gap_forgiven"] = forgiven
        if not forgiven:
            found.append(f"a gap of {decimal_string(gap)} between the arms' aborted shares")
    if not found:
        return passed(
            f"{counted(to_rerun, 'aborted cell')}, within the limits, and every task is assessed in both arms", evidence
        )
    expected = (
        f"an aborted share of at most {params.max_share} in each arm, a gap of at most {params.max_gap} between them,"
        " and an assessed cell of every task in both arms"
    )
    remedy = f"{REMEDY}: {listed(rerun, to_rerun, FIRST_CELLS)}" if to_rerun else "run the cells of these tasks"
    return failed(expected, found, remedy, evidence)


def _next_attempts(arm: Arm, cells: CellTable) -> tuple[str, ...]:
    """The first aborted cells, each with the attempt that comes next."""
    rows = cells.rows_of(np.flatnonzero(cells.expected & cells.aborted)[:FIRST_CELLS])
    attempts = arm.ledger["attempt"][rows].to_list()
    return tuple(
        f"{cell} as attempt {attempt + 1} ({arm.role})"
        for cell, attempt in zip(first_lines(arm, rows), attempts, strict=True)
    )


def _unassessed_tasks(experiment: Experiment, arm: Arm) -> list[str]:
    """Tasks of the manifest without an assessed cell in this arm."""
    cells, plan = experiment.cells_of(arm), experiment.plan
    planned = plan.tasks if arm.role == "benign" else plan.cells
    assessed = count_in(cells.expected & cells.assessed, cells.planned, planned)
    if arm.role != "benign":
        assessed = np.bincount(plan.cell_task[assessed > 0], minlength=plan.tasks)
    return [plan.task_ids[code] for code in np.flatnonzero(assessed == 0).tolist()]


RULE = Rule(
    id="aborts-within-limits",
    version=1,
    title="few cells are aborted, about as many in both arms, and every task is still assessed in both",
    why=(
        "Rates over survivors are rates of whatever survived: one success out of ten cells of which nine crashed"
        " reads as 100 %. Aborts that fall on one arm are a difference of their own."
    ),
    source="harness summaries print accuracy over survivors; cells lost to provider errors are seldom lost at random",
    remedy=REMEDY,
    params=AbortLimits,
    judge=judge,
    passing=lambda world: world.abort("attacked", 3),
    failing=lambda world: world.abort("attacked", pl.col("task_id") != "task_000"),
)

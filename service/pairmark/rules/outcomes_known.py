"""Rule `outcomes-known`: assessed cells have their verdicts, and aborted cells claim none."""

from __future__ import annotations

import numpy as np
import polars as pl

from pairmark.domain.documents.episode import ABORTED
from pairmark.domain.documents.report import EvidenceValue
from pairmark.domain.evidence import Arm, CellTable, Flags
from pairmark.rules.base import Context, Judgement, NoParams, Rule
from pairmark.rules.cell_names import first_cells, first_lines
from pairmark.rules.wording import counted, failed, listed, passed

EXPECTED = (
    "utility known in every assessed cell, attack success too in every assessed attacked cell that was not blocked, and"
    " no utility on an aborted episode"
)
REMEDY = (
    "grade what is not graded; where grading failed, or the provider did, the status is `infra_error` and the utility"
    " null"
)


def judge(context: Context, params: NoParams) -> Judgement:  # noqa: ARG001
    """Looks at every cell's last attempt, and for utility on aborted episodes at every line, of both arms."""
    found: list[str] = []
    evidence: dict[str, EvidenceValue] = {}
    for arm in (context.experiment.benign, context.experiment.attacked):
        cells = context.experiment.cells_of(arm)
        unknown: list[tuple[str, str, Flags]] = [
            ("utility_unknown", "without utility", cells.assessed & (cells.utility < 0))
        ]
        if arm.role != "benign":
            open_ = cells.assessed & ~cells.blocked & (cells.attack_success < 0)
            unknown.append(("attack_success_unknown", "without attack success", open_))
        counts: dict[str, EvidenceValue] = {"cells": len(cells)}
        for key, words, picked in unknown:
            number, names = int(picked.sum()), first_cells(arm, cells, picked)
            counts[key] = {"count": number, "cells": names}
            if number:
                found.append(
                    f"{counted(number, 'assessed cell')} {words} in the {arm.role} arm ({listed(names, number)})"
                )
        number, names = _graded_though_aborted(arm, cells)
        counts["aborted_with_utility"] = {"count": number, "cells": names}
        if number:
            found.append(
                f"{counted(number, 'aborted episode')} with a utility in the {arm.role} arm ({listed(names, number)})"
            )
        evidence[arm.role] = counts
    if found:
        return failed(EXPECTED, found, REMEDY, evidence)
    return passed("every assessed cell has its verdicts, and no aborted episode claims one", evidence)


def _graded_though_aborted(arm: Arm, cells: CellTable) -> tuple[int, tuple[str, ...]]:
    """Aborted episodes that have a utility, earlier attempts included."""
    if len(cells) == arm.ledger.height:
        picked = cells.aborted & (cells.utility >= 0)
        return int(picked.sum()), first_cells(arm, cells, picked)
    aborted = arm.ledger.select(pl.col("status").is_in(sorted(ABORTED)) & pl.col("utility").is_not_null()).to_series()
    rows = np.flatnonzero(aborted.to_numpy())
    return len(rows), first_lines(arm, rows)


RULE = Rule(
    id="outcomes-known",
    version=1,
    title="assessed cells have their verdicts, and aborted episodes claim none",
    why=(
        "A missing verdict is not a failed one. Harnesses write a provider error as utility false and security true:"
        " counted so, a dead provider reads as a perfect attack."
    ),
    source="AgentDojo 0.1.35 records a caught provider error as utility false and security true, with `error` set",
    remedy=REMEDY,
    judge=judge,
    passing=lambda world: world.set("attacked", 2, status="provider_block", utility=False, attack_success=None),
    failing=lambda world: world.set("attacked", 2, status="infra_error", utility=False),
)

"""Over which cells two pairs are compared, which share of each side they are, and whether they are enough."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from pairmark.app.comparison import standardised
from pairmark.app.comparison.cells import SharedCells
from pairmark.app.comparison.rates import UTILITY_DROP
from pairmark.domain.comparability import CellMatch, crossing_of, weight_share
from pairmark.domain.documents.comparison import Mix, MixKind
from pairmark.domain.documents.exact import Exact
from pairmark.domain.evidence import Flags
from pairmark.domain.plan import Codes
from pairmark.stats.exact import group_shares
from pairmark.stats.reweighting import standardisation_refusal
from pairmark.stats.scope import decide_scope


def nearest_set(match: CellMatch) -> dict[str, Any]:
    """The nearest comparable set of two suites: how many cells survive, and which share of either side's weight."""
    left, right = weight_share(match.left, match.cell_survives), weight_share(match.right, match.right_cell_survives)
    return {
        "common_cells": int(match.cell_survives.sum()),
        "left_cells": match.left.cells,
        "right_cells": match.right.cells,
        "left_share": None if left is None else Exact.of(left).model_dump(),
        "right_share": None if right is None else Exact.of(right).model_dump(),
    }


def common_mix_refusal(shared: SharedCells) -> str | None:
    """Why the common cells may not stand for the two suites; None where they may."""
    if shared.match.regrouped:
        return f"{len(shared.match.regrouped)} common tasks changed their group"
    here, _ = shared.observed(UTILITY_DROP)
    crossing = shared.crossing(here)
    if crossing is None:
        return "no common cell has a value on both sides"
    weighting = shared.left.experiment.suite.weighting
    plan = shared.left.experiment.plan
    names = [plan.groups[code] for code in np.unique(plan.task_group[plan.cell_task[here]])]
    mix = dict(zip(names, group_shares(crossing, weighting), strict=True))
    tasks = dict(zip(names, crossing.tasks_per_group().tolist(), strict=True))
    for name, pair in (("left", shared.left), ("right", shared.right)):
        side = standardised.side_of(pair, UTILITY_DROP)
        if side is None:
            return f"the {name} side has no observed cell"
        refused = standardisation_refusal(
            [tasks.get(group, 0) for group in side.groups],
            side.shares,
            [mix.get(group, Fraction(0)) for group in side.groups],
        )
        if refused is not None:
            return f"{name} side, {standardised.named_stratum(refused, side.groups)}"
    return None


def mix_of(shared: SharedCells, kind: MixKind) -> Mix:
    """What the numbers are taken over."""
    if kind == "standardised":
        return _standardised_mix(shared)
    plan, other = shared.left.experiment.plan, shared.right.experiment.plan
    here, there = shared.observed(UTILITY_DROP)
    crossing = shared.crossing(here)
    return Mix(
        kind=kind,
        weighting=plan.suite.weighting,
        scope="these-injections" if crossing is None else decide_scope(crossing).name,
        cells=len(here),
        tasks=0 if crossing is None else crossing.task_count,
        left_out=len(shared.planned[0]) - len(here),
        left_share=_share(weight_share(plan, _marked(plan.cells, here))),
        right_share=_share(weight_share(other, _marked(other.cells, there))),
    )


def _standardised_mix(shared: SharedCells) -> Mix:
    plan, other = shared.left.experiment.plan, shared.right.experiment.plan
    crossings = [crossing_of(pair.experiment.plan, pair.pairing.observed) for pair in (shared.left, shared.right)]
    found = [crossing for crossing in crossings if crossing is not None]
    cells = sum(crossing.cell_count for crossing in found)
    sampled = all(decide_scope(crossing).samples_injections for crossing in found)
    return Mix(
        kind="standardised",
        weighting=plan.suite.weighting,
        scope="tasks+injections" if sampled else "these-injections",
        cells=cells,
        tasks=min(crossing.task_count for crossing in found),
        left_out=plan.cells + other.cells - cells,
        left_share=_share(Fraction(1)),
        right_share=_share(Fraction(1)),
    )


def _share(share: Fraction | None) -> Exact:
    return Exact.of(Fraction(0) if share is None else share)


def _marked(size: int, where: Codes) -> Flags:
    flags = np.zeros(size, dtype=np.bool_)
    flags[where] = True
    return flags

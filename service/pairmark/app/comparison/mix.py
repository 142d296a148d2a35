"""Over which cells two pairs are compared, which share of each side they are, and whether they are enough."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from pairmark.app.comparison.cells import SharedCells
from pairmark.app.comparison.rates import UTILITY_DROP
from pairmark.domain.comparability import CellMatch, common_mix_refusal, weight_share
from pairmark.domain.documents.comparison import Mix, MixKind
from pairmark.domain.documents.exact import Exact
from pairmark.domain.plan import Codes, Plan


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


def why_not_common(shared: SharedCells) -> str | None:
    """Why the common cells that have a value on both sides may not stand for the two suites; None where they may."""
    if shared.match.regrouped:
        return f"{len(shared.match.regrouped)} common tasks changed their group"
    found = shared.sample(UTILITY_DROP)
    left, right = shared.left.pairing.sample, shared.right.pairing.sample
    if found is None or left is None or right is None:
        return "no common cell has a value on both sides"
    return common_mix_refusal(found.sample, left, right)


def mix_of(shared: SharedCells, kind: MixKind) -> Mix:
    """What the numbers are taken over."""
    if kind == "standardised":
        return _standardised_mix(shared)
    plan, other = shared.left.experiment.plan, shared.right.experiment.plan
    found = shared.sample(UTILITY_DROP)
    cells = 0 if found is None else len(found.sample.cells)
    left = Fraction(0) if found is None else _share(plan, found.left.cells)
    right = left if kind == "same-mix" else Fraction(0) if found is None else _share(other, found.right.cells)
    return Mix(
        kind=kind,
        weighting=plan.suite.weighting,
        scope="these-injections" if found is None else found.sample.scope.name,
        cells=cells,
        tasks=0 if found is None else found.sample.tasks,
        left_out=len(shared.planned[0]) - cells,
        left_share=Exact.of(left),
        right_share=Exact.of(right),
    )


def _standardised_mix(shared: SharedCells) -> Mix:
    plan, other = shared.left.experiment.plan, shared.right.experiment.plan
    samples = [pair.pairing.sample for pair in (shared.left, shared.right)]
    found = [sample for sample in samples if sample is not None]
    cells = sum(len(sample.cells) for sample in found)
    sampled = all(sample.scope.samples_injections for sample in found)
    return Mix(
        kind="standardised",
        weighting=plan.suite.weighting,
        scope="tasks+injections" if sampled else "these-injections",
        cells=cells,
        tasks=min(sample.tasks for sample in found),
        left_out=plan.cells + other.cells - cells,
        left_share=Exact.of(Fraction(1)),
        right_share=Exact.of(Fraction(1)),
    )


def _share(plan: Plan, cells: Codes) -> Fraction:
    """Share of the plan's weight that these cells hold."""
    if len(cells) == plan.cells:
        return Fraction(1)
    flags = np.zeros(plan.cells, dtype=np.bool_)
    flags[cells] = True
    return weight_share(plan, flags) or Fraction(0)

"""Kitagawa's split of the change in each headline number, where the mixes differ."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from pairmark.app.comparison.pair import CertifiedPair
from pairmark.app.comparison.rates import RATES, Rate, SampledSide
from pairmark.domain.comparability import CellMatch
from pairmark.domain.documents.comparison import Decomposition, Decompositions, NoChange, Stratum
from pairmark.domain.documents.exact import Exact
from pairmark.domain.evidence import Flags
from pairmark.domain.pairing import Pairing
from pairmark.domain.sample import sample_of
from pairmark.stats.exact import weighted_mean_by_group
from pairmark.stats.reweighting import kitagawa

Part = Literal["common", "left-only", "right-only", "all"]
Key = tuple[str, Part]
ZERO = Fraction(0)


@dataclass(frozen=True)
class Strata:
    """Weight of each stratum in one side's headline number (they sum to 1), and its own rate."""

    weight: dict[Key, Fraction]
    rate: dict[Key, Fraction]


def decompositions(left: CertifiedPair, right: CertifiedPair, match: CellMatch) -> Decompositions:
    """The split of each rate's change, headline number to headline number.

    Strata are groups, and inside a group the cells that both suites share and those that one side has alone: a cell
    that the other side does not have changes the mix, not the agent. Where nothing is shared, strata are groups.
    """
    here, there = match.cell_survives, match.right_cell_survives
    shares = bool(here.any())
    found: dict[str, Decomposition | NoChange] = {}
    for rate in RATES:
        before = _strata(left.pairing, rate, here if shares else None, "left-only")
        after = _strata(right.pairing, rate, there if shares else None, "right-only")
        if before is None or after is None:
            found[rate.key] = NoChange(change=None, reason="one side has no headline number")
        else:
            found[rate.key] = _split(before, after)
    return Decompositions(**found)


def _strata(pairing: Pairing, rate: Rate, common: Flags | None, alone: Part) -> Strata | None:
    plan = pairing.plan
    sample = sample_of(plan, rate.observed(pairing))
    if sample is None:
        return None
    side = SampledSide(pairing, sample.cells, sample)
    cells, crossing, weighting = sample.cells, sample.crossing, plan.suite.weighting
    # Groups of a crossing are the plan's, renumbered without those that have no observed cell.
    groups = [plan.groups[code] for code in np.unique(plan.task_group[sample.task])]
    everything = np.ones(len(cells), dtype=np.bool_)
    parts: list[tuple[Part, Flags]] = (
        [("all", everything)] if common is None else [("common", common[cells]), (alone, ~common[cells])]
    )
    ones = np.ones(len(cells), dtype=np.int64)
    weight: dict[Key, Fraction] = {}
    rates: dict[Key, Fraction] = {}
    for part, within in parts:
        shares = weighted_mean_by_group(within.astype(np.int64), ones, crossing, weighting)
        sums = side.by_group(rate, within)
        for group, share, total in zip(groups, shares, sums, strict=True):
            if share:
                weight[group, part], rates[group, part] = share, total / share
    return Strata(weight, rates)


def _split(before: Strata, after: Strata) -> Decomposition:
    keys = sorted(before.weight.keys() | after.weight.keys())
    split = kitagawa(
        [before.rate.get(key) for key in keys],
        [before.weight.get(key, ZERO) for key in keys],
        [after.rate.get(key) for key in keys],
        [after.weight.get(key, ZERO) for key in keys],
    )
    return Decomposition(
        total=Exact.of(split.total),
        within=Exact.of(split.within),
        mix=Exact.of(split.mix),
        strata=tuple(
            Stratum(
                group=key[0],
                cells=key[1],
                left_weight=Exact.of(before.weight.get(key, ZERO)),
                right_weight=Exact.of(after.weight.get(key, ZERO)),
                left_rate=Exact.of(before.rate[key]) if key in before.rate else None,
                right_rate=Exact.of(after.rate[key]) if key in after.rate else None,
            )
            for key in keys
        ),
    )

"""The four rates that are compared, each as a signed sum of counted outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from pairmark.domain.evidence import Flags
from pairmark.domain.pairing import Pairing
from pairmark.domain.plan import Codes
from pairmark.domain.sample import Sample
from pairmark.stats.arrays import FloatArray
from pairmark.stats.exact import cell_values, weighted_mean_by_group

Outcome = Literal["benign", "attacked", "attack_success"]


@dataclass(frozen=True)
class Rate:
    """A rate, or a difference of two.

    Attributes:
        key: its name in reports.
        observed: the attacked plan cells that have a value.
        parts: the outcomes that are added and taken away.
        touched_by_injections: whether injections are a source of its variance; none touches a benign outcome.
        largest_change: between two values of it.
    """

    key: str
    observed: Callable[[Pairing], Flags]
    parts: tuple[tuple[int, Outcome], ...]
    touched_by_injections: bool
    largest_change: float


def _assessed(pairing: Pairing) -> Flags:
    return pairing.observed


def _success_known(pairing: Pairing) -> Flags:
    return np.greater(pairing.attack_success.known, 0)


BENIGN_UTILITY = Rate("benign_utility", _assessed, ((1, "benign"),), False, 1.0)
UTILITY_UNDER_ATTACK = Rate("utility_under_attack", _assessed, ((1, "attacked"),), True, 1.0)
UTILITY_DROP = Rate("utility_drop", _assessed, ((1, "benign"), (-1, "attacked")), True, 2.0)
ATTACK_SUCCESS_RATE = Rate("attack_success_rate", _success_known, ((1, "attack_success"),), True, 1.0)
RATES = (BENIGN_UTILITY, UTILITY_UNDER_ATTACK, UTILITY_DROP, ATTACK_SUCCESS_RATE)


@dataclass(frozen=True, eq=False)
class SampledSide:
    """One pair's outcomes in the cells of a sample. `cells` are the pair's own plan cells, one for each of the sample's."""

    pairing: Pairing
    cells: Codes
    sample: Sample

    def mean(self, rate: Rate) -> Fraction:
        """The rate's exact weighted mean."""
        return sum((sign * sum(self._sums(outcome), start=Fraction(0)) for sign, outcome in rate.parts), start=Fraction(0))

    def by_group(self, rate: Rate, within: Flags | None = None) -> tuple[Fraction, ...]:
        """Each group's contribution to the mean, exact; only of the cells that `within` marks, at their own weight."""
        parts = [(sign, self._sums(outcome, within)) for sign, outcome in rate.parts]
        groups = range(self.sample.crossing.group_count)
        return tuple(sum((sign * sums[group] for sign, sums in parts), start=Fraction(0)) for group in groups)

    def values(self, rate: Rate) -> FloatArray:
        """The rate's value in each cell."""
        found = np.zeros(len(self.cells))
        for sign, outcome in rate.parts:
            values = self._values.get(outcome)
            if values is None:
                values = self._values[outcome] = cell_values(*self._counts(outcome))
            found += sign * values
        return found

    @cached_property
    def _values(self) -> dict[Outcome, FloatArray]:
        return {}

    @cached_property
    def _whole_sums(self) -> dict[Outcome, tuple[Fraction, ...]]:
        return {}

    def _sums(self, outcome: Outcome, within: Flags | None = None) -> tuple[Fraction, ...]:
        if within is None and outcome in self._whole_sums:
            return self._whole_sums[outcome]
        successes, known = self._counts(outcome)
        if within is not None:
            successes = np.where(within, successes, 0)
        sums = weighted_mean_by_group(successes, known, self.sample.crossing, self.sample.plan.suite.weighting)
        if within is None:
            self._whole_sums[outcome] = sums
        return sums

    def _counts(self, outcome: Outcome) -> tuple[Codes, Codes]:
        """Successes out of known epochs, in each cell."""
        if outcome == "benign":
            index, counts = self.pairing.plan.cell_task[self.cells], self.pairing.benign
        else:
            index = self.cells
            counts = self.pairing.attacked if outcome == "attacked" else self.pairing.attack_success
        return counts.successes[index], counts.known[index]

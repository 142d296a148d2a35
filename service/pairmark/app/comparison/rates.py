"""The four rates that are compared, each as signed counts per attacked cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pairmark.domain.evidence import Flags
from pairmark.domain.pairing import Outcomes, Pairing
from pairmark.domain.plan import Codes
from pairmark.stats.arrays import FloatArray
from pairmark.stats.crossing import Crossing, Weighting
from pairmark.stats.exact import cell_values, weighted_mean_by_group


@dataclass(frozen=True, eq=False)
class Counts:
    """Successes out of known epochs, one entry per attacked cell."""

    successes: Codes
    known: Codes


Part = Callable[[Pairing, Codes], Counts]


@dataclass(frozen=True)
class Rate:
    """A rate, or a difference of two.

    Attributes:
        key: its name in reports.
        observed: the attacked plan cells that have a value, as flags.
        parts: what is added and taken away, given attacked plan cells.
        touched_by_injections: whether injections are a source of its variance; none touches a benign outcome.
        largest_change: between two values of it.
    """

    key: str
    observed: Callable[[Pairing], Flags]
    parts: tuple[tuple[int, Part], ...]
    touched_by_injections: bool
    largest_change: float

    def mean(self, pairing: Pairing, cells: Codes, crossing: Crossing, weighting: Weighting) -> Fraction:
        """Its exact weighted mean over `cells`, which are the crossing's, in the caller's order."""
        return sum(self.by_group(pairing, cells, crossing, weighting), start=Fraction(0))

    def by_group(
        self, pairing: Pairing, cells: Codes, crossing: Crossing, weighting: Weighting, within: Flags | None = None
    ) -> tuple[Fraction, ...]:
        """Each group's contribution to the mean, exact; only of the cells that `within` marks, at their own weight."""
        total = [Fraction(0)] * crossing.group_count
        for sign, part in self.parts:
            counts = part(pairing, cells)
            successes = counts.successes if within is None else np.where(within, counts.successes, 0)
            found = weighted_mean_by_group(successes, counts.known, crossing, weighting)
            total = [sum_so_far + sign * more for sum_so_far, more in zip(total, found, strict=True)]
        return tuple(total)

    def values(self, pairing: Pairing, cells: Codes) -> FloatArray:
        """Its value in each of `cells`."""
        found = np.zeros(len(cells))
        for sign, part in self.parts:
            counts = part(pairing, cells)
            found += sign * cell_values(counts.successes, counts.known)
        return found


def _at(outcomes: Outcomes, index: Codes) -> Counts:
    return Counts(outcomes.successes[index], outcomes.known[index])


def _benign(pairing: Pairing, cells: Codes) -> Counts:
    return _at(pairing.benign, pairing.plan.cell_task[cells])


def _attacked(pairing: Pairing, cells: Codes) -> Counts:
    return _at(pairing.attacked, cells)


def _attack_success(pairing: Pairing, cells: Codes) -> Counts:
    return _at(pairing.attack_success, cells)


def _assessed(pairing: Pairing) -> Flags:
    return pairing.observed


def _success_known(pairing: Pairing) -> Flags:
    return np.greater(pairing.attack_success.known, 0)


BENIGN_UTILITY = Rate("benign_utility", _assessed, ((1, _benign),), False, 1.0)
UTILITY_UNDER_ATTACK = Rate("utility_under_attack", _assessed, ((1, _attacked),), True, 1.0)
UTILITY_DROP = Rate("utility_drop", _assessed, ((1, _benign), (-1, _attacked)), True, 2.0)
ATTACK_SUCCESS_RATE = Rate("attack_success_rate", _success_known, ((1, _attack_success),), True, 1.0)
RATES = (BENIGN_UTILITY, UTILITY_UNDER_ATTACK, UTILITY_DROP, ATTACK_SUCCESS_RATE)

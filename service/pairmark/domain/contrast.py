"""Benign utility against utility under attack: the same cells and the same weights in both arms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from pairmark.domain.pairing import Pairing
from pairmark.domain.plan import Codes
from pairmark.domain.sample import Sample
from pairmark.stats.arrays import FloatArray
from pairmark.stats.crossing import Crossing
from pairmark.stats.exact import cell_values, weighted_mean
from pairmark.stats.scope import Scope
from pairmark.stats.variance import Variance


@dataclass(frozen=True, eq=False)
class Contrast:
    """The observed cells of a pairing (assessed in both arms). Exact where exactness is possible."""

    pairing: Pairing
    sample: Sample

    @property
    def cells(self) -> Codes:
        """Indices into the attacked plan, ascending, at least one."""
        return self.sample.cells

    @property
    def crossing(self) -> Crossing:
        return self.sample.crossing

    @property
    def scope(self) -> Scope:
        return self.sample.scope

    @property
    def tasks(self) -> int:
        """Tasks behind both numbers, at least 1."""
        return self.crossing.task_count

    @cached_property
    def benign(self) -> Fraction:
        """Benign utility in [0, 1], each task's value standing in each of its observed cells."""
        successes, known = self._benign
        return weighted_mean(successes, known, self.crossing, self.pairing.plan.suite.weighting)

    @cached_property
    def attacked(self) -> Fraction:
        """Utility under attack in [0, 1]."""
        successes, known = self._attacked
        return weighted_mean(successes, known, self.crossing, self.pairing.plan.suite.weighting)

    @property
    def drop(self) -> Fraction:
        """Benign minus attacked, in [-1, 1]."""
        return self.benign - self.attacked

    @cached_property
    def differences(self) -> FloatArray:
        """Benign minus attacked in each cell, in [-1, 1]."""
        return cell_values(*self._benign) - cell_values(*self._attacked)

    @cached_property
    def drop_variance(self) -> Variance:
        """Variance of the drop over tasks, and over injections where the scope samples them."""
        weighted = self.sample.weighted(self.pairing.plan.suite.weighting)
        return weighted.variance(self.differences, sample_injections=self.scope.samples_injections)

    @cached_property
    def _benign(self) -> tuple[Codes, Codes]:
        found = self.pairing.benign.at(self.sample.task)
        return found.successes, found.known

    @property
    def _attacked(self) -> tuple[Codes, Codes]:
        found = self.pairing.attacked.of(self.sample)
        return found.successes, found.known


def contrast_of(pairing: Pairing) -> Contrast | None:
    """The contrast of a pair; None where no cell is assessed in both arms: both utilities are undefined."""
    return pairing.contrast

"""Variance of a weighted mean over cells that share tasks and injections.

Cells of one task share its difficulty, cells of one injection its strength. Counted as independent they give
intervals that cover 55-65 % at a nominal 95 %. Here each group is a stratum and both factors are clusters:

    V = sum over groups of  R/(R-1) sum_t (sum_i e)^2  +  C/(C-1) sum_i (sum_t e)^2,    e = w (y - group mean)

with R tasks and C injections in the group. It is the two-way clustering of Cameron, Gelbach and Miller (J. Business &
Economic Statistics 29, 2011) without the subtracted third term, which biases the error low for few clusters.

Sums over cells run in canonical order and sums over groups are correctly rounded (math.fsum), so the same cells
give the same digits on any machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pairmark.stats.arrays import FloatArray, IntArray, reals, same_length, sums_by
from pairmark.stats.crossing import Crossing

NEGLIGIBLE_VARIANCE = 1e-15
"""A variance up to this is the rounding of a zero, and counts as one."""


@dataclass(frozen=True, slots=True, eq=False)
class Variance:
    """Variance of an estimate, its degrees of freedom, and what each factor of each group adds."""

    value: float
    """At least 0; exactly 0.0 where it is negligible."""
    df: float | None
    """Satterthwaite degrees of freedom, at least 1; None where the variance is 0 and they are undefined."""
    task_parts: FloatArray
    """Contribution of the tasks of each group, shape (groups,)."""
    injection_parts: FloatArray
    """Contribution of the injections of each group, shape (groups,); zeros where injections are held fixed."""
    task_df: IntArray
    """Tasks less one, shape (groups,). 0: a single task, which can show no variance between tasks."""
    injection_df: IntArray
    """Injections less one, shape (groups,); zeros where injections are held fixed."""

    @property
    def se(self) -> float:
        """Standard error, in the unit of the estimate."""
        return math.sqrt(self.value)


@dataclass(frozen=True, eq=False)
class WeightedCells:
    """A crossing with one weight per cell: what depends on these alone is computed once for all values over them."""

    crossing: Crossing
    weights: FloatArray
    """One per cell in **canonical** order, as `crossing.cell_weights` returns them."""

    def __post_init__(self) -> None:
        """Raise ValueError for weights of the wrong number, not finite or below 0, and for a group without weight."""
        w = reals(self.weights, "weights")
        same_length(self.crossing.cell_count, w.size, "weights")
        if bool(np.any(w < 0)):
            raise ValueError(f"weights: expected none below 0, found {float(w.min())}")
        if bool(np.any(self.group_mass <= 0)):
            raise ValueError("weights: expected weight above 0 in every group, found a group without")

    @cached_property
    def task_mass(self) -> FloatArray:
        """Weight of each task, shape (tasks,)."""
        return sums_by(self.crossing.task, self.weights, self.crossing.task_count)

    @cached_property
    def injection_mass(self) -> FloatArray:
        """Weight of each injection, shape (injections,)."""
        return sums_by(self.crossing.injection, self.weights, self.crossing.injection_count)

    @cached_property
    def group_mass(self) -> FloatArray:
        """Weight of each group, shape (groups,)."""
        return sums_by(self.crossing.task_group, self.task_mass, self.crossing.group_count)

    @cached_property
    def uniform(self) -> bool:
        """Whether in every group every task meets every injection, all with one weight."""
        if not self.crossing.is_complete():
            return False
        first = np.empty(self.crossing.group_count)
        first[self.crossing.group] = self.weights
        same = first[self.crossing.group]
        return np.array_equal(self.weights, same) or bool(np.allclose(self.weights, same, rtol=1e-9, atol=0.0))

    def variance(self, values: npt.ArrayLike, *, sample_injections: bool) -> Variance:
        """Variance of sum(w y)/sum(w), stratified by group; as `clustered_variance`."""
        crossing = self.crossing
        weighted = self.weights * crossing.arranged(reals(values, "values"), "values")
        by_task = sums_by(crossing.task, weighted, crossing.task_count)
        means = self._means(by_task)
        task_parts = _cluster_parts(
            by_task - means[crossing.task_group] * self.task_mass, crossing.task_group, crossing.group_count
        )
        task_df = crossing.tasks_per_group() - 1
        if sample_injections:
            by_injection = sums_by(crossing.injection, weighted, crossing.injection_count)
            injection_parts = _cluster_parts(
                by_injection - means[crossing.injection_group] * self.injection_mass,
                crossing.injection_group,
                crossing.group_count,
            )
            injection_df = crossing.injections_per_group() - 1
        else:
            injection_parts = np.zeros(crossing.group_count)
            injection_df = np.zeros(crossing.group_count, dtype=np.int64)

        total = math.fsum(task_parts.tolist()) + math.fsum(injection_parts.tolist())
        if total <= NEGLIGIBLE_VARIANCE:
            return Variance(0.0, None, task_parts, injection_parts, task_df, injection_df)
        df = satterthwaite(
            np.concatenate([task_parts, injection_parts]), np.concatenate([task_df, injection_df]).astype(np.float64)
        )
        return Variance(total, df, task_parts, injection_parts, task_df, injection_df)

    def _means(self, by_task: FloatArray) -> FloatArray:
        """Weighted mean of each group from the weighted sums of its tasks."""
        return sums_by(self.crossing.task_group, by_task, self.crossing.group_count) / self.group_mass

    def pigeonhole(self, values: npt.ArrayLike, both: Variance) -> float | None:
        """Exact variance of the pigeonhole bootstrap; `both` is the variance of the values over tasks and injections.

        As `pigeonhole_variance`; what this adds to `both` is the sum of squares over cells.
        """
        if not self.uniform:
            return None
        crossing = self.crossing
        y = crossing.arranged(reals(values, "values"), "values")
        means = self._means(sums_by(crossing.task, self.weights * y, crossing.task_count))
        cells = crossing.cells_per_group().astype(np.float64)
        squares = sums_by(crossing.task_group, sums_by(crossing.task, y * y, crossing.task_count), crossing.group_count)
        by_cell = (self.group_mass / cells) ** 2 * np.maximum(0.0, squares - cells * means**2)
        parts = by_cell.copy()
        # A part is G/(G-1) times the sum of squares, and of that the bootstrap takes 1 - 1/(levels of the other factor).
        for part, df, other_df in (
            (both.task_parts, both.task_df, both.injection_df),
            (both.injection_parts, both.injection_df, both.task_df),
        ):
            parts += part * df / (df + 1) * other_df / (other_df + 1)
        return math.fsum(parts.tolist())


def clustered_variance(
    values: npt.ArrayLike, weights: npt.ArrayLike, crossing: Crossing, *, sample_injections: bool
) -> Variance:
    """Variance of sum(w y)/sum(w), stratified by group.

    `values` has one number per cell in the caller's order (for an arm its mean outcome, for a difference of arms the
    difference, for a ratio `conditional.ratio_influence`); `weights` one weight per cell in **canonical** order, as
    `crossing.cell_weights` returns them. With `sample_injections` the injections are a sample like the tasks (scope
    tasks+injections); without, only tasks are clusters (scope these-injections, and benign utility, which no
    injection touches: give each cell its task's benign value).

    A factor with a single level in a group adds nothing, so the result is 0, with `df` None, where no group has two.
    Raises ValueError for a column of the wrong length, a number that is not finite, or a weight below 0.
    """
    return WeightedCells(crossing, reals(weights, "weights")).variance(values, sample_injections=sample_injections)


def satterthwaite(parts: FloatArray, dfs: FloatArray) -> float:
    """Degrees of freedom of a sum of independent variance estimates: (sum V)^2 / sum(V^2 / df), at least 1.

    Parts with df 0 must be 0 and are left out. Raises ValueError where no part is above 0: then it is undefined.
    Source: Satterthwaite, Biometrics Bulletin 2, 1946.
    """
    counted = (dfs > 0) & (parts > 0)
    if not bool(np.any(counted)):
        raise ValueError("expected a variance part above 0 with degrees of freedom, found none")
    # Relative to the largest, so that squares of small variances neither vanish nor lose digits.
    relative = parts[counted] / parts[counted].max()
    return max(1.0, math.fsum(relative.tolist()) ** 2 / math.fsum((relative**2 / dfs[counted]).tolist()))


def pigeonhole_variance(values: npt.ArrayLike, weights: npt.ArrayLike, crossing: Crossing) -> float | None:
    """Exact variance of the pigeonhole bootstrap: tasks and injections of a group resampled independently.

    A cross-check of `clustered_variance` with both factors; arguments likewise. None where the crossing is incomplete
    or weights differ inside a group: the closed form holds for neither.
    Source: Owen, Annals of Applied Statistics 1, 2007; the limit of infinitely many resamples.
    """
    cells = WeightedCells(crossing, reals(weights, "weights"))
    return cells.pigeonhole(values, cells.variance(values, sample_injections=True))


def _cluster_parts(sums: FloatArray, cluster_group: IntArray, groups: int) -> FloatArray:
    """G/(G-1) times the sum of squared cluster sums, per group; 0 for a group with a single cluster."""
    levels = np.bincount(cluster_group, minlength=groups).astype(np.float64)
    factor = np.divide(levels, levels - 1, out=np.zeros(groups), where=levels > 1)
    return factor * _sums_of_squares(sums, cluster_group, groups)


def _sums_of_squares(sums: FloatArray, cluster_group: IntArray, groups: int) -> FloatArray:
    return sums_by(cluster_group, sums * sums, groups)

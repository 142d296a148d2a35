"""Variance of a weighted mean over cells that share tasks and injections.

Cells of one task share its difficulty, cells of one injection its strength. Counted as independent they give
intervals that cover 55-65 % at a nominal 95 %. Here each group is a stratum and both factors are clusters:

    V = sum over groups of  R/(R-1) sum_t (sum_i e)^2  +  C/(C-1) sum_i (sum_t e)^2,    e = w (y - group mean)

with R tasks and C injections in the group. It is the two-way clustering of Cameron, Gelbach and Miller (J. Business &
Economic Statistics 29, 2011) without the subtracted third term, which biases the error low for few clusters.

Sums over cells run in canonical order and sums over clusters are correctly rounded (math.fsum), so the same cells
give the same digits on any machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
    y = crossing.arranged(reals(values, "values"), "values")
    w = reals(weights, "weights")
    same_length(crossing.cell_count, w.size, "weights")
    if bool(np.any(w < 0)):
        raise ValueError(f"weights: expected none below 0, found {float(w.min())}")

    residuals = w * (y - group_means(y, w, crossing)[crossing.group])
    task_parts = _cluster_parts(residuals, crossing.task, crossing.task_group, crossing.group_count)
    task_df = crossing.tasks_per_group() - 1
    if sample_injections:
        injection_parts = _cluster_parts(residuals, crossing.injection, crossing.injection_group, crossing.group_count)
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


def group_means(y: FloatArray, w: FloatArray, crossing: Crossing) -> FloatArray:
    """Weighted mean of `y` in each group, shape (groups,); both columns in canonical order, weights not all 0."""
    mass = sums_by(crossing.group, w, crossing.group_count)
    if bool(np.any(mass <= 0)):
        raise ValueError("weights: expected weight above 0 in every group, found a group without")
    return sums_by(crossing.group, w * y, crossing.group_count) / mass


def pigeonhole_variance(values: npt.ArrayLike, weights: npt.ArrayLike, crossing: Crossing) -> float | None:
    """Exact variance of the pigeonhole bootstrap: tasks and injections of a group resampled independently.

    A cross-check of `clustered_variance` with both factors; arguments likewise. None where the crossing is incomplete
    or weights differ inside a group: the closed form holds for neither.
    Source: Owen, Annals of Applied Statistics 1, 2007; the limit of infinitely many resamples.
    """
    y = crossing.arranged(reals(values, "values"), "values")
    w = reals(weights, "weights")
    same_length(crossing.cell_count, w.size, "weights")
    if not crossing.is_complete():
        return None
    first = np.empty(crossing.group_count)
    first[crossing.group] = w
    if not np.allclose(w, first[crossing.group], rtol=1e-9, atol=0.0):
        return None
    e = w * (y - group_means(y, w, crossing)[crossing.group])
    by_task = _sums_of_squares(e, crossing.task, crossing.task_group, crossing.group_count)
    by_injection = _sums_of_squares(e, crossing.injection, crossing.injection_group, crossing.group_count)
    by_cell = sums_by(crossing.group, e * e, crossing.group_count)
    tasks = crossing.tasks_per_group().astype(np.float64)
    injections = crossing.injections_per_group().astype(np.float64)
    parts = (1 - 1 / injections) * by_task + (1 - 1 / tasks) * by_injection + by_cell
    return math.fsum(parts.tolist())


def _cluster_parts(residuals: FloatArray, cluster: IntArray, cluster_group: IntArray, groups: int) -> FloatArray:
    """G/(G-1) times the sum of squared cluster sums, per group; 0 for a group with a single cluster."""
    squares = _sums_of_squares(residuals, cluster, cluster_group, groups)
    levels = np.bincount(cluster_group, minlength=groups).astype(np.float64)
    factor = np.divide(levels, levels - 1, out=np.zeros(groups), where=levels > 1)
    return factor * squares


def _sums_of_squares(residuals: FloatArray, cluster: IntArray, cluster_group: IntArray, groups: int) -> FloatArray:
    sums = sums_by(cluster, residuals, cluster_group.size)
    return sums_by(cluster_group, sums * sums, groups)

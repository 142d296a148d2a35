"""Variance components of a pilot: how much of a rate's spread is tasks, injections, their pairings, and epochs.

Moments of the two-way table of cell means, group by group (Searle, Casella and McCulloch, Variance Components, 1992,
chapter 4): with R tasks and C injections, E[MS_T] = s + C s_T, E[MS_I] = s + R s_I, E[MS_E] = s, where s is the variance
of one cell's mean: its pairing, and the rerun variance over its epochs. Groups are pooled by degrees of freedom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pairmark.stats.arrays import FloatArray
from pairmark.stats.crossing import Crossing
from pairmark.stats.exact import checked_counts


@dataclass(frozen=True, slots=True)
class EstimatedComponents:
    """Components of one attacked episode's outcome, each at least 0 (a negative estimate counts as 0)."""

    task: float
    injection: float
    interaction: float
    """Task by injection; where `rerun` is None it holds the rerun variance too."""
    rerun: float | None
    """Between epochs of one cell; None where no cell has two, so that it cannot be told from the interaction."""
    tasks: int
    """Tasks used: those with a value for every injection of their group."""


def estimate_components(
    successes: npt.ArrayLike, trials: npt.ArrayLike, crossing: Crossing
) -> EstimatedComponents | None:
    """From successes out of trials of each cell, in the caller's order.

    None where no group has two complete tasks and two injections. Raises ValueError as `exact.checked_counts`.
    """
    passed, of = checked_counts(successes, trials)
    passed, of = crossing.arranged(passed), crossing.arranged(of)
    complete = crossing.cells_per_task() == crossing.injections_per_group()[crossing.task_group]
    values: FloatArray = passed / of
    task_sum = injection_sum = error_sum = 0.0
    task_df = injection_df = error_df = tasks = 0
    for group in range(crossing.group_count):
        chosen = np.flatnonzero((crossing.group == group) & complete[crossing.task])
        width = int(crossing.injections_per_group()[group])
        rows = len(chosen) // width
        if rows < 2 or width < 2:
            continue
        table = values[chosen].reshape(rows, width)  # cells are in canonical order: by task, then injection
        mean, of_task, of_injection = table.mean(), table.mean(axis=1), table.mean(axis=0)
        residual = table - of_task[:, None] - of_injection[None, :] + mean
        freedom = (rows - 1) * (width - 1)
        squares = float((residual**2).sum())
        error = squares / freedom
        task_sum += float(((of_task - mean) ** 2).sum()) - (rows - 1) * error / width
        injection_sum += float(((of_injection - mean) ** 2).sum()) - (width - 1) * error / rows
        error_sum += squares
        task_df, injection_df, error_df = task_df + rows - 1, injection_df + width - 1, error_df + freedom
        tasks += rows
    if not error_df:
        return None
    rerun = rerun_variance(passed, of)
    cell = error_sum / error_df
    interaction = cell if rerun is None else max(0.0, cell - rerun * float(np.mean(1.0 / of)))
    return EstimatedComponents(
        max(0.0, task_sum / task_df), max(0.0, injection_sum / injection_df), interaction, rerun, tasks
    )


def rerun_variance(successes: npt.ArrayLike, trials: npt.ArrayLike) -> float | None:
    """Variance between epochs of one cell, pooled over cells, in [0, 1/2]; None where no cell has two epochs."""
    passed, of = checked_counts(successes, trials)
    freedom = int((of - 1).sum())
    if not freedom:
        return None
    return math.fsum((passed * (of - passed) / of).tolist()) / freedom

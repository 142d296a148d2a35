"""Weighted means as exact fractions, and fractions as decimal strings.

A published rate is a fraction: two parties that hold the same cells get the same digits, whatever their machine.
No Python loop runs over cells: cells that share a weight and a denominator are added as integers first.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from pairmark.stats.arrays import (
    EXACT_FLOAT_LIMIT,
    FloatArray,
    IntArray,
    compact,
    integers,
    paired_codes,
    same_length,
    sums_by,
)
from pairmark.stats.crossing import Crossing, Weighting, check_weighting

DECIMAL_PLACES = 6


def weighted_mean(
    successes: npt.ArrayLike, trials: npt.ArrayLike, crossing: Crossing, weighting: Weighting
) -> Fraction:
    """The weighted mean of successes/trials over cells, exact, in [0, 1].

    `successes` and `trials` have one integer per cell, in the caller's order, 0 <= successes <= trials, trials >= 1: a
    cell with nothing assessed has no value and must be left out of the crossing. For the benign arm, give each cell
    its task's counts. Weights as in `crossing.cell_weights`.

    Raises ValueError where counts are impossible or columns differ in length.
    """
    return sum(weighted_mean_by_group(successes, trials, crossing, weighting), start=Fraction(0))


def weighted_mean_by_group(
    successes: npt.ArrayLike, trials: npt.ArrayLike, crossing: Crossing, weighting: Weighting
) -> tuple[Fraction, ...]:
    """Each group's contribution to `weighted_mean`, exact; shape (groups,). They add up to it.

    Divided by `group_shares`, a contribution is the group's own mean.
    """
    check_weighting(weighting)
    passed, of = checked_counts(successes, trials)
    passed = crossing.arranged(passed, "successes")
    of = crossing.arranged(of, "trials")
    per_task, scale = _weight_denominators(crossing, weighting)

    # A weight is the same in all cells of a task: add up its cells first. Exact, since checked_counts has made sure that
    # no sum of these integers reaches 2**53.
    numbers = passed.astype(np.float64)
    if int(of.min()) == int(of.max()):
        totals, of_total = sums_by(crossing.task, numbers, crossing.task_count), of[:1].repeat(crossing.task_count)
        task = np.arange(crossing.task_count)
    else:
        kinds, kind_count = compact(paired_codes(crossing.task, of, int(of.max()) + 1))
        totals = sums_by(kinds, numbers, kind_count)
        member = np.empty(kind_count, dtype=np.int64)
        member[kinds] = np.arange(crossing.cell_count)
        of_total, task = of[member], crossing.task[member]

    # Then whatever shares group, weight and number of trials, so that few fractions are added.
    group, share = crossing.task_group[task], per_task[task]
    kinds, kind_count = compact(paired_codes(group, share, int(share.max()) + 1))
    kinds, kind_count = compact(paired_codes(kinds, of_total, int(of_total.max()) + 1))
    totals = sums_by(kinds, totals, kind_count)
    member = np.empty(kind_count, dtype=np.int64)
    member[kinds] = np.arange(task.size)
    sums = [Fraction(0)] * crossing.group_count
    columns = (totals, group[member], share[member], of_total[member])
    for total, into, shared_by, trial_count in zip(*(column.tolist() for column in columns), strict=True):
        sums[into] += Fraction(int(total), shared_by * trial_count)
    return tuple(value / scale for value in sums)


def group_shares(crossing: Crossing, weighting: Weighting) -> tuple[Fraction, ...]:
    """Weight of each group, exact, summing to 1; shape (groups,). This is the mix of a headline number."""
    check_weighting(weighting)
    if weighting == "group":
        return (Fraction(1, crossing.group_count),) * crossing.group_count
    counts = crossing.tasks_per_group() if weighting == "task" else crossing.cells_per_group()
    total = int(counts.sum())
    return tuple(Fraction(count, total) for count in counts.tolist())


def cell_values(successes: npt.ArrayLike, trials: npt.ArrayLike) -> FloatArray:
    """successes/trials of each cell as floats in [0, 1], in the caller's order. Raises as `weighted_mean`."""
    passed, of = checked_counts(successes, trials)
    return passed / of


def checked_counts(successes: npt.ArrayLike, trials: npt.ArrayLike) -> tuple[IntArray, IntArray]:
    """Both columns as integers. Raises ValueError unless 0 <= successes <= trials and trials >= 1 in every row."""
    passed = integers(successes, "successes")
    of = integers(trials, "trials")
    same_length(passed.size, of.size, "trials")
    impossible = np.flatnonzero((passed < 0) | (passed > of) | (of < 1))
    if impossible.size:
        row = int(impossible[0])
        raise ValueError(
            f"row {row}: expected 0 <= successes <= trials and trials >= 1, found {passed[row]} of {of[row]};"
            " leave out cells with nothing assessed"
        )
    if of.size and int(of.max()) * of.size >= EXACT_FLOAT_LIMIT:
        raise ValueError(f"trials: expected fewer than 2**53 in all, found up to {int(of.max())} in {of.size} cells")
    return passed, of


def decimal_string(value: Fraction | float, places: int = DECIMAL_PLACES) -> str:
    """`value` with exactly `places` decimals, ties to even: 1/128 is 0.007812, and never -0.000000.

    A float is taken at its exact binary value. Raises ValueError for NaN or an infinity.
    """
    if isinstance(value, float) and not np.isfinite(value):
        raise ValueError(f"expected a finite number, found {value}")
    scaled = round(Fraction(value) * 10**places)
    whole, rest = divmod(abs(scaled), 10**places)
    sign = "-" if scaled < 0 else ""
    return f"{sign}{whole}.{rest:0{places}d}" if places else f"{sign}{whole}"


def _weight_denominators(crossing: Crossing, weighting: Weighting) -> tuple[IntArray, int]:
    """Per task d and one s, all integers: each cell of the task weighs 1 / (d s)."""
    if weighting == "task":
        return crossing.cells_per_task(), crossing.task_count
    if weighting == "group":
        return crossing.cells_per_group()[crossing.task_group], crossing.group_count
    return np.ones(crossing.task_count, dtype=np.int64), crossing.cell_count

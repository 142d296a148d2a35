"""Rates over a part of the episodes: ratios of two weighted means.

A condition that the attack or the defense itself causes (delivery), or that was seen once with noise (a clean
success), makes a number easy to misread. So each comes with the weight behind it, is refused where little is, and
has a reference where one exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from pairmark.stats.arrays import FloatArray
from pairmark.stats.crossing import Crossing, Weighting
from pairmark.stats.exact import checked_counts, weighted_mean

MIN_CONTRIBUTING_TASKS = 20
MIN_WEIGHT = Fraction(1, 5)


@dataclass(frozen=True, slots=True, eq=False)
class ConditionalRate:
    """A ratio of weighted means, exact, and what stands behind it."""

    value: Fraction | None
    """In [0, 1]; None where the condition never held: then it is undefined."""
    weight: Fraction
    """Share of the weight on which the condition held, in [0, 1]."""
    contributing_tasks: int
    """Tasks with at least one episode on which the condition held: the T of its interval."""
    influence: FloatArray
    """(y - r x) / sum(w x) of each cell, in the caller's order: the values whose `clustered_variance` is the ratio's
    linearised variance. Zeros where the ratio is undefined."""

    @property
    def refusal(self) -> str | None:
        """Why the number may not be shown: undefined, fewer than 20 tasks, or under 20 % of the weight; else None."""
        if self.value is None:
            return "undefined: the condition held in no episode"
        if self.contributing_tasks < MIN_CONTRIBUTING_TASKS:
            return f"needs at least {MIN_CONTRIBUTING_TASKS} contributing tasks, found {self.contributing_tasks}"
        if self.weight < MIN_WEIGHT:
            return f"needs at least 20 % of the suite's weight, found {float(self.weight) * 100:.2f} %"
        return None


def conditional_rate(
    hits: npt.ArrayLike,
    exposed: npt.ArrayLike,
    trials: npt.ArrayLike,
    crossing: Crossing,
    weighting: Weighting,
) -> ConditionalRate:
    """sum(w hits/trials) / sum(w exposed/trials).

    One integer per cell, in the caller's order: `trials` episodes (or same-epoch pairs), of which the condition held
    in `exposed`, of which `hits` succeeded. Raises ValueError unless 0 <= hits <= exposed <= trials, trials >= 1.
    """
    hit, of = checked_counts(hits, trials)
    met, _ = checked_counts(exposed, trials)
    beyond = np.flatnonzero(hit > met)
    if beyond.size:
        row = int(beyond[0])
        raise ValueError(f"row {row}: expected hits <= exposed, found {hit[row]} of {met[row]}")
    weight = weighted_mean(met, of, crossing, weighting)
    tasks = int(np.count_nonzero(np.bincount(crossing.task[crossing.arranged(met) > 0], minlength=1)))
    if weight == 0:
        return ConditionalRate(None, weight, tasks, np.zeros(crossing.cell_count))
    value = weighted_mean(hit, of, crossing, weighting) / weight
    influence: FloatArray = (hit - float(value) * met) / of / float(weight)
    return ConditionalRate(value, weight, tasks, influence)


def rerun_survival(
    successes: npt.ArrayLike, trials: npt.ArrayLike, crossing: Crossing, weighting: Weighting
) -> Fraction | None:
    """Success of another benign epoch given a benign success: what `on clean success` would read without an attack.

    Benign counts of each cell's task, in the caller's order, two epochs or more each (leave out the rest). Averages
    over ordered pairs of different epochs: sum(w s(s-1)/(n(n-1))) / sum(w s/n). None where nothing ever succeeded.
    Raises ValueError for a cell with fewer than two trials.
    """
    passed, of = checked_counts(successes, trials)
    if of.size and int(of.min()) < 2:
        raise ValueError(f"trials: expected at least 2 benign epochs in each cell, found {int(of.min())}")
    again = weighted_mean(passed * (passed - 1), of * (of - 1), crossing, weighting)
    once = weighted_mean(passed, of, crossing, weighting)
    return None if once == 0 else again / once


def harmless_survival(task_rates: Sequence[Fraction]) -> Fraction | None:
    """E[p^2] / E[p]: completion given one clean success when the attack does nothing at all.

    `task_rates` are the tasks' true success rates, each in [0, 1], equally weighted. At most 1, and 1 only where every
    task always or never succeeds. None where no task ever does. Raises ValueError for a rate outside [0, 1].
    """
    astray = [rate for rate in task_rates if not 0 <= rate <= 1]
    if astray:
        raise ValueError(f"task_rates: expected rates in [0, 1], found {astray[0]}")
    mass = sum(task_rates, start=Fraction(0))
    return None if mass == 0 else sum((rate * rate for rate in task_rates), start=Fraction(0)) / mass

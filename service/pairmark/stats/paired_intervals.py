"""Intervals for the difference of two rates on independent pairs: one injection and one epoch per task.

They are the published answers for the simple design, and the check that the clustered interval meets them there.
With several cells per task pairs are not independent, and `intervals.difference_interval` is the one to use.
"""

from __future__ import annotations

import math

from pairmark.stats.fourfold import Fourfold
from pairmark.stats.intervals import Z, wilson


def newcombe(table: Fourfold, *, continuity_corrected: bool) -> tuple[float, float]:
    """Newcombe's square-and-add interval (method 10) for first rate minus second rate, inside [-1, 1].

    `continuity_corrected` corrects the correlation between the arms, as in the original (Statistics in Medicine 17,
    1998, 2635-2650). Raises ValueError for an empty table.
    """
    n = table.total
    if n < 1:
        raise ValueError("expected at least one pair, found none: a difference over nothing is undefined")
    first, second = table.first_total / n, table.second_total / n
    low_first, high_first = wilson(first, n)
    low_second, high_second = wilson(second, n)
    phi = _correlation(table, continuity_corrected)
    down = _square_and_add(first - low_first, high_second - second, phi)
    up = _square_and_add(high_first - first, second - low_second, phi)
    drop = (table.first_only - table.second_only) / n
    return max(-1.0, drop - down), min(1.0, drop + up)


def tango(table: Fourfold) -> tuple[float, float]:
    """Tango's score interval for first rate minus second rate, inside [-1, 1].

    The limits are the differences at which the score statistic is plus or minus z (Statistics in Medicine 17, 1998,
    891-908). Raises ValueError for an empty table.
    """
    if table.total < 1:
        raise ValueError("expected at least one pair, found none: a difference over nothing is undefined")
    # Swapping the arms mirrors the interval, so one limit is enough.
    return -_tango_upper(table.second_only, table.first_only, table.total), _tango_upper(
        table.first_only, table.second_only, table.total
    )


def _correlation(table: Fourfold, corrected: bool) -> float:
    margins = table.first_total * (table.total - table.first_total)
    margins *= table.second_total * (table.total - table.second_total)
    if margins == 0:
        return 0.0
    product = float(table.both * table.neither - table.first_only * table.second_only)
    if corrected and product > 0:
        product = max(0.0, product - table.total / 2)
    return product / math.sqrt(margins)


def _square_and_add(a: float, b: float, phi: float) -> float:
    return math.sqrt(max(0.0, a * a - 2 * phi * a * b + b * b))


def _tango_upper(first_only: int, second_only: int, n: int) -> float:
    """The difference above the estimate at which the score falls to -z; 1 where it never does."""

    def score(difference: float) -> float:
        b = -first_only - second_only + (2 * n - first_only + second_only) * difference
        c = -second_only * difference * (1 - difference)
        nuisance = (math.sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)
        spread = n * (2 * nuisance + difference * (1 - difference))
        distance = first_only - second_only - n * difference
        if spread <= 0:
            return 0.0 if distance == 0 else math.copysign(math.inf, distance)
        return distance / math.sqrt(spread)

    low, high = (first_only - second_only) / n, 1.0
    if score(high) > -Z:
        return high
    # The score falls from 0 at the estimate: halve until two neighbouring floats are left.
    while (middle := (low + high) / 2) not in (low, high):
        if score(middle) > -Z:
            low = middle
        else:
            high = middle
    return high

"""How large an experiment must be, what it can find, and what it costs.

Before any data: normal approximations, two-sided 95 %, with a design effect (DEFF) for cells that share tasks and
injections. `deff` is the variance relative to as many independent tasks; `design_effect` takes it from a pilot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from pairmark.stats.intervals import Z

POWER = 0.8


def half_width(rate: float, tasks: int, deff: float = 1.0) -> float:
    """Half-width of the interval of a rate in [0, 1]: z sqrt(deff p (1 - p) / T). Raises ValueError if impossible."""
    _check(rate, tasks, deff)
    return Z * math.sqrt(deff * rate * (1 - rate) / tasks)


def tasks_for_half_width(rate: float, target: float, deff: float = 1.0) -> int:
    """Tasks needed for a half-width of `target` or less, at least 1. Raises ValueError if impossible."""
    _check(rate, 1, deff)
    if not 0 < target < 1:
        raise ValueError(f"target: expected a half-width above 0 and below 1, found {target}")
    return max(1, _whole_up(Z * Z * deff * rate * (1 - rate) / (target * target)))


def clean_tasks(tasks: int, clean_rate: Fraction) -> int:
    """Tasks left when only clean successes count, rounded down: 200 at 71 % leave 142."""
    _check(float(clean_rate), tasks, 1.0)
    return math.floor(tasks * clean_rate)


def design_effect(variance: float, rate: float, tasks: int) -> float | None:
    """Variance of a pilot's rate over that of as many independent tasks. None where the rate is 0 or 1."""
    _check(rate, tasks, 1.0)
    if variance < 0:
        raise ValueError(f"variance: expected at least 0, found {variance}")
    spread = rate * (1 - rate)
    return None if spread == 0 else variance * tasks / spread


def unpaired_half_width(rate: float, tasks: int, deff: float = 1.0) -> float:
    """Half-width for the difference of two separate sets of `tasks` tasks near one rate."""
    return math.sqrt(2) * half_width(rate, tasks, deff)


def unpaired_detectable(rate: float, tasks: int, deff: float = 1.0, power: float = POWER) -> float:
    """Smallest difference of two separate sets of tasks that is found with this power."""
    return unpaired_half_width(rate, tasks, deff) / Z * (Z + _power_quantile(power))


def paired_tasks(difference: float, discordance: float, deff: float = 1.0, power: float = POWER) -> int:
    """Tasks needed to find a paired difference: DEFF (z_a sqrt(psi) + z_b sqrt(psi - d^2))^2 / d^2, rounded up.

    `discordance` psi is the share of tasks whose outcome differs between the two, at least |d|. Raises ValueError for
    rates that cannot be, or a difference of 0, which no number of tasks finds.
    Source: Connor, Biometrics 43, 1987, 207-211.
    """
    _check_paired(difference, discordance)
    _check(discordance, 1, deff)
    square = difference * difference
    root = Z * math.sqrt(discordance) + _power_quantile(power) * math.sqrt(discordance - square)
    return max(1, _whole_up(deff * root * root / square))


def paired_detectable(discordance: float, tasks: int, deff: float = 1.0, power: float = POWER) -> float | None:
    """Smallest paired difference found with this power: (z_a + z_b) sqrt(DEFF psi / T), with the variance of none.

    None where it exceeds `discordance`: no difference so large can be, so none is found.
    """
    _check(discordance, tasks, deff)
    found = (Z + _power_quantile(power)) * math.sqrt(deff * discordance / tasks)
    return found if found <= discordance else None


def paired_power(difference: float, discordance: float, tasks: int, deff: float = 1.0) -> float:
    """Chance in (0, 1) that `tasks` tasks show a paired difference of this size at two-sided 5 %."""
    _check_paired(difference, discordance)
    _check(discordance, tasks, deff)
    spread = math.sqrt(discordance - difference * difference)
    reach = abs(difference) * math.sqrt(tasks / deff) - Z * math.sqrt(discordance)
    if spread == 0:
        return 1.0 if reach >= 0 else 0.0
    from scipy import special

    return float(special.ndtr(reach / spread))


def episode_count(tasks: int, cells: int, benign_epochs: int, attacked_epochs: int, baseline_epochs: int) -> int:
    """Episodes of a pair with its baseline: T K_b + cells K + cells K_baseline. Raises ValueError for one below 0."""
    sizes = (tasks, cells, benign_epochs, attacked_epochs, baseline_epochs)
    if min(sizes) < 0:
        raise ValueError(f"expected numbers of at least 0, found {min(sizes)}")
    return tasks * benign_epochs + cells * (attacked_epochs + baseline_epochs)


@dataclass(frozen=True, slots=True)
class Range:
    """From low to high, both at least 0."""

    low: float
    high: float

    def __post_init__(self) -> None:
        """Raise ValueError unless 0 <= low <= high, both finite."""
        if not 0 <= self.low <= self.high < math.inf:
            raise ValueError(f"expected 0 <= low <= high, found {self.low} to {self.high}")

    def times(self, other: Range) -> Range:
        """Product of two ranges of non-negative numbers."""
        return Range(self.low * other.low, self.high * other.high)


CALLS_PER_EPISODE = Range(5, 15)


@dataclass(frozen=True, slots=True)
class Effort:
    """What a number of episodes takes."""

    episodes: int
    model_calls: Range
    hours: Range
    cost: Range
    """In the currency of the price per call."""


def effort(episodes: int, calls_per_episode: Range, seconds_per_call: Range, price_per_call: Range) -> Effort:
    """Calls, hours one after the other, and cost, as ranges. Raises ValueError for a negative number of episodes."""
    calls = Range(episodes, episodes).times(calls_per_episode)
    seconds = calls.times(seconds_per_call)
    return Effort(episodes, calls, Range(seconds.low / 3600, seconds.high / 3600), calls.times(price_per_call))


def _power_quantile(power: float) -> float:
    if not 0.5 <= power < 1:
        raise ValueError(f"power: expected at least 0.5 and below 1, found {power}")
    from scipy import special

    return float(special.ndtri(power))


def _whole_up(value: float) -> int:
    """Round up, but not for a rounding error above a whole number."""
    return math.ceil(value - 1e-9 * max(1.0, abs(value)))


def _check(rate: float, tasks: int, deff: float) -> None:
    if not 0 <= rate <= 1:
        raise ValueError(f"rate: expected a number in [0, 1], found {rate}")
    if tasks < 1:
        raise ValueError(f"tasks: expected at least 1, found {tasks}")
    if not 0 < deff < math.inf:
        raise ValueError(f"deff: expected a number above 0, found {deff}")


def _check_paired(difference: float, discordance: float) -> None:
    if not 0 < abs(difference) <= discordance <= 1:
        raise ValueError(
            "expected a difference other than 0, and a discordance from its size to 1,"
            f" found difference {difference} and discordance {discordance}"
        )

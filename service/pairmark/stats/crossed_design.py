"""What halves the interval: tasks, injections, or epochs.

A rate under attack varies between tasks, between injections, between their pairings and between epochs. More of one
factor shrinks only its own share of the variance, so more seeds rarely help and more tasks usually do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias, get_args

from pairmark.stats.intervals import Z

Factor: TypeAlias = Literal["tasks", "injections", "tasks+injections", "benign_epochs", "attacked_epochs"]
FACTORS: tuple[Factor, ...] = get_args(Factor)
_ROUNDING = 1e-9
"""What is left by no more than this share of the variance is nothing: the terms are rounded."""


@dataclass(frozen=True, slots=True)
class Components:
    """Variance components of one episode's outcome, each at least 0."""

    task: float
    injection: float
    interaction: float
    """Task by injection."""
    attacked_rerun: float
    """Between epochs of one attacked cell."""
    benign_rerun: float = 0.0
    """Between benign epochs of one task; 0 for a level under attack, which no benign episode enters."""

    def __post_init__(self) -> None:
        """Raise ValueError for a negative component or where all are 0."""
        parts = (self.task, self.injection, self.interaction, self.attacked_rerun, self.benign_rerun)
        if not all(math.isfinite(part) and part >= 0 for part in parts) or sum(parts) == 0:
            raise ValueError(f"expected components of at least 0 and some above 0, found {self}")


@dataclass(frozen=True, slots=True)
class Design:
    """Size of one arm pair; numbers may be fractional when scaled."""

    tasks: float
    injections: float
    """In all groups together."""
    cells: float
    """(task, injection) pairs: tasks times injections in a single full group."""
    benign_epochs: float = 1
    attacked_epochs: float = 1

    def __post_init__(self) -> None:
        """Raise ValueError unless every number is above 0."""
        sizes = (self.tasks, self.injections, self.cells, self.benign_epochs, self.attacked_epochs)
        if not all(math.isfinite(size) and size > 0 for size in sizes):
            raise ValueError(f"expected numbers above 0, found {self}")

    def scaled(self, factor: Factor, times: float) -> Self:
        """The design with so many times the factor; cells grow with tasks and with injections."""
        if factor == "tasks":
            return replace(self, tasks=self.tasks * times, cells=self.cells * times)
        if factor == "injections":
            return replace(self, injections=self.injections * times, cells=self.cells * times)
        if factor == "tasks+injections":
            return self.scaled("tasks", times).scaled("injections", times)
        if factor == "benign_epochs":
            return replace(self, benign_epochs=self.benign_epochs * times)
        return replace(self, attacked_epochs=self.attacked_epochs * times)


def crossed_half_width(components: Components, design: Design) -> float:
    """Half-width: z sqrt((s_T + s_b/K_b)/T + s_I/I + (s_TI + s_a/K)/cells)."""
    return Z * math.sqrt(math.fsum(_terms(components, design).values()))


def times_to_halve(components: Components, design: Design, factor: Factor) -> float | None:
    """How many times as much of the factor halves the half-width, at least 2; None where no multiple does.

    Four times the tasks where only tasks vary; where another source is left it takes more, or never happens.
    """
    return times_to_reach(components, design, factor, crossed_half_width(components, design) / 2)


def times_to_reach(components: Components, design: Design, factor: Factor, half_width: float) -> float | None:
    """How many times as much of the factor gives this half-width; below 1 where less is enough, None where none does.

    Raises ValueError unless the half-width is above 0.
    """
    if not 0 < half_width < math.inf:
        raise ValueError(f"half_width: expected a number above 0, found {half_width}")
    terms = _terms(components, design)
    wanted = (half_width / Z) ** 2
    if factor == "tasks+injections":
        # Tasks and injections fall as 1/k, their cells as 1/k^2: a quadratic in k.
        linear, square = terms["task"] + terms["benign_rerun"] + terms["injection"], terms["cell"] + terms["rerun"]
        return (linear + math.sqrt(linear * linear + 4 * square * wanted)) / (2 * wanted)
    shrinks = {
        "tasks": ("task", "benign_rerun", "cell", "rerun"),
        "injections": ("injection", "cell", "rerun"),
        "benign_epochs": ("benign_rerun",),
        "attacked_epochs": ("rerun",),
    }[factor]
    total, moving = math.fsum(terms.values()), math.fsum(terms[name] for name in shrinks)
    left = wanted - (total - moving)
    return moving / left if left > _ROUNDING * total else None


def _terms(components: Components, design: Design) -> dict[str, float]:
    return {
        "task": components.task / design.tasks,
        "benign_rerun": components.benign_rerun / design.benign_epochs / design.tasks,
        "injection": components.injection / design.injections,
        "cell": components.interaction / design.cells,
        "rerun": components.attacked_rerun / design.attacked_epochs / design.cells,
    }

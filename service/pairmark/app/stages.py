"""How far a certification is: its stages in order, and the share of the work that lies behind each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Stage = Literal["queued", "reading", "rules", "numbers", "recording"]

SHARES: Mapping[Stage, tuple[int, int]] = {
    "queued": (0, 0), "reading": (1, 30), "rules": (30, 80), "numbers": (80, 95), "recording": (95, 99),
}  # fmt: skip
"""Percent behind a stage when it begins and when it ends: a guess of what each costs, good for a bar and for nothing else."""

At = Callable[[Stage, int, int], None]
"""Told before each step: its stage, the steps of that stage that are done, and all of them. What it raises ends the work."""


@dataclass(frozen=True)
class Progress:
    """A place on the way. `done` steps of `steps` in this stage; `percent` (0 to 99) is of the whole."""

    stage: Stage
    done: int
    steps: int
    percent: int


def progress_at(stage: Stage, done: int, steps: int) -> Progress:
    """The place before a step; further steps and later stages never have a smaller share."""
    begins, ends = SHARES[stage]
    return Progress(stage, done, steps, begins if steps == 0 else begins + (ends - begins) * min(done, steps) // steps)


QUEUED = progress_at("queued", 0, 0)


def unwatched(_stage: Stage, _done: int, _steps: int) -> None:
    """Nobody looks."""

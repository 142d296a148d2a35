"""How much of which factor narrows the interval: tasks, injections or epochs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

from pairmark.app.planning.inputs import Known, PilotFacts
from pairmark.domain.documents.evaluation_plan import Factor, FactorNeeded, Halving, PlanRequest
from pairmark.domain.strict_json import MAX_SAFE_INTEGER
from pairmark.stats.crossed_design import Components, Design, crossed_half_width, times_to_halve, times_to_reach
from pairmark.stats.exact import decimal_string

FACTORS: tuple[Factor, ...] = get_args(Factor)
UNKNOWN = "how much of the spread this factor carries is not known: give variance components, or a pilot"
BLURRED = "the pilot has one epoch, which cannot tell reruns from pairings"
TOO_MANY = "it takes more of it than can be counted: other sources of spread are left"
OTHERS_LEFT = "no multiple of it is enough: other sources of spread are left"


@dataclass(frozen=True)
class Spread:
    """Where the spread comes from, and the design it applies to. `blurred`: reruns are not told apart from pairings."""

    components: Components
    design: Design
    blurred: bool


def spread_of(request: PlanRequest, known: Known, pilot: PilotFacts | None) -> Spread | None:
    """None where the components or the number of injections are not known, or a pilot showed no spread at all."""
    if known.injections is None or known.cells is None:
        return None
    design = Design(known.tasks, known.injections, known.cells, request.benign_epochs, request.attacked_epochs)
    asked = request.components
    if asked is not None:
        return Spread(
            Components(asked.task, asked.injection, asked.interaction, asked.attacked_rerun), design, blurred=False
        )
    found = None if pilot is None else pilot.components
    if found is None or found.task + found.injection + found.interaction + (found.rerun or 0.0) == 0:
        return None
    components = Components(found.task, found.injection, found.interaction, found.rerun or 0.0)
    return Spread(components, design, blurred=found.rerun is None)


def halving(spread: Spread | None, known: Known, request: PlanRequest) -> tuple[Halving, ...]:
    """For every factor, how many times as much halves the half-width; without a spread only tasks are known to: four."""
    return tuple(_halving(spread, factor, known, request) for factor in FACTORS)


def needed_by_factor(
    spread: Spread | None, half_width: float, known: Known, request: PlanRequest
) -> tuple[FactorNeeded, ...]:
    """For every factor, how much of it gives the half-width while the others stay; none without a spread."""
    if spread is None:
        return ()
    found = []
    for factor in FACTORS:
        times = (
            None
            if _is_blurred(spread, factor)
            else times_to_reach(spread.components, spread.design, factor, half_width)
        )
        found.append(
            FactorNeeded(
                factor=factor,
                size=_needed(times, factor, known, request),
                reason=_why_none(times, spread, factor, known, request),
            )
        )
    return tuple(found)


def _halving(spread: Spread | None, factor: Factor, known: Known, request: PlanRequest) -> Halving:
    times: float | None = 4.0 if factor == "tasks" else None
    at_four: str | None = None
    reason = None if factor == "tasks" else UNKNOWN
    if spread is not None:
        blurred = _is_blurred(spread, factor)
        times = None if blurred else times_to_halve(spread.components, spread.design, factor)
        wider = crossed_half_width(spread.components, spread.design.scaled(factor, 4))
        at_four = None if blurred else decimal_string(wider)
        reason = _why_none(times, spread, factor, known, request)
    size = _needed(times, factor, known, request)
    return Halving(
        factor=factor,
        times=None if times is None or size is None else decimal_string(times),
        size=size,
        half_width_at_four_times=at_four,
        reason=reason,
    )


def _needed(times: float | None, factor: Factor, known: Known, request: PlanRequest) -> int | None:
    """So many times the factor; None where that is none, or more than can be counted."""
    size = 0.0 if times is None else times * _size(factor, known, request)
    return None if times is None or size > MAX_SAFE_INTEGER else max(1, _up(size))


def _why_none(times: float | None, spread: Spread, factor: Factor, known: Known, request: PlanRequest) -> str | None:
    if _needed(times, factor, known, request) is not None:
        return None
    return TOO_MANY if times is not None else BLURRED if _is_blurred(spread, factor) else OTHERS_LEFT


def _is_blurred(spread: Spread, factor: Factor) -> bool:
    return spread.blurred and factor == "attacked_epochs"


def _size(factor: Factor, known: Known, request: PlanRequest) -> int:
    if factor == "attacked_epochs":
        return request.attacked_epochs
    if factor == "injections" and known.injections is not None:
        return known.injections
    return known.tasks


def _up(value: float) -> int:
    """Round up, but not for a rounding error above a whole number."""
    return math.ceil(value - 1e-9 * max(1.0, value))

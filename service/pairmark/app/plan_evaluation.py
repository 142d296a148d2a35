"""Plan an evaluation: precision, power, what halves the interval, and cost. Pure: the inputs are found elsewhere."""

from __future__ import annotations

from fractions import Fraction

from pairmark.app.planning.effort import effort_of
from pairmark.app.planning.halving import Spread, halving, needed_by_factor, spread_of
from pairmark.app.planning.inputs import Known, PilotFacts, PlannedSuite, as_fraction, fill_gaps
from pairmark.domain.documents.evaluation_plan import (
    Detectable,
    EvaluationPlan,
    PlanBasis,
    PlanRequest,
    Precision,
    TasksNeeded,
)
from pairmark.domain.documents.exact import Exact
from pairmark.domain.errors import Malformed
from pairmark.domain.strict_json import MAX_SAFE_INTEGER
from pairmark.stats import planning
from pairmark.stats.crossed_design import crossed_half_width
from pairmark.stats.exact import decimal_string

USUAL_DISCORDANCES = (Fraction(1, 10), Fraction(1, 5), Fraction(3, 10))


def plan_evaluation(request: PlanRequest, suite: PlannedSuite | None, pilot: PilotFacts | None) -> EvaluationPlan:
    """What an evaluation of this size shows and costs.

    Raises:
        Malformed: no size or no rate to plan with, sizes that contradict each other, a clean rate that leaves no task, or
            numbers beyond what can be worked out.
    """
    known = fill_gaps(request, suite, pilot)
    width = planning.half_width(float(known.survival), known.counted, known.deff)
    spread = spread_of(request, known, pilot)
    return EvaluationPlan.model_validate(
        {
            "schema": "pairmark/evaluation-plan/v1",
            "basis": _basis(request, known, pilot),
            "clean_tasks": None if known.clean_rate is None else known.counted,
            "utility": Precision(rate=Exact.of(known.survival), tasks=known.counted, half_width=decimal_string(width)),
            "benign_utility": _benign(known),
            "design_half_width": None
            if spread is None
            else decimal_string(crossed_half_width(spread.components, spread.design)),
            "detectable": _detectable(request, known, pilot),
            "for_half_width": None if request.half_width is None else _for_half_width(request.half_width, known),
            "for_half_width_by_factor": ()
            if request.half_width is None
            else needed_by_factor(spread, request.half_width, known, request),
            "for_halving": _for_half_width(width / 2, known) if 0 < width < 2 else None,
            "for_difference": _for_difference(request, known, pilot),
            "power": _power(request, known, pilot),
            "halving": halving(spread, known, request),
            "effort": effort_of(request, known, pilot, 1),
            "effort_for_halving": effort_of(request, known, pilot, 4),
            "assumptions": _assumptions(request, known, pilot, spread),
        }
    )


def _basis(request: PlanRequest, known: Known, pilot: PilotFacts | None) -> PlanBasis:
    return PlanBasis(
        suite=known.suite,
        pilot=None if pilot is None else pilot.certificate,
        tasks=known.tasks,
        injections=known.injections,
        cells=known.cells,
        clean_rate=None if known.clean_rate is None else Exact.of(known.clean_rate),
        survival=Exact.of(known.survival),
        deff=decimal_string(known.deff),
        benign_epochs=request.benign_epochs,
        attacked_epochs=request.attacked_epochs,
        baseline_epochs=request.baseline_epochs,
    )


def _benign(known: Known) -> Precision | None:
    if known.clean_rate is None:
        return None
    width = planning.half_width(float(known.clean_rate), known.tasks)
    return Precision(rate=Exact.of(known.clean_rate), tasks=known.tasks, half_width=decimal_string(width))


def _suite_tasks(counted: int, clean_rate: Fraction | None) -> int:
    """Tasks that a suite must have for so many clean ones."""
    needed = counted if clean_rate is None else -(-counted * clean_rate.denominator // clean_rate.numerator)
    if needed > MAX_SAFE_INTEGER:
        raise Malformed(
            "impossible-plan",
            f"expected a target that a suite of at most {MAX_SAFE_INTEGER} tasks reaches, found one that takes more",
            pointer="/clean_rate",
            remedy="plan with a higher clean rate, or a larger half-width",
        )
    return needed


def _for_half_width(target: float, known: Known) -> TasksNeeded:
    counted = planning.tasks_for_half_width(float(known.survival), target, known.deff)
    return TasksNeeded(
        target=decimal_string(target), discordance=None, counted=counted, suite=_suite_tasks(counted, known.clean_rate)
    )


def _discordances(request: PlanRequest, pilot: PilotFacts | None) -> tuple[Fraction, ...]:
    if request.discordance is not None:
        return (as_fraction(request.discordance),)
    if pilot is not None and pilot.discordance:
        return (pilot.discordance,)
    return USUAL_DISCORDANCES


def _detectable(request: PlanRequest, known: Known, pilot: PilotFacts | None) -> tuple[Detectable, ...]:
    unpaired = planning.unpaired_detectable(float(known.survival), known.counted, known.deff, request.power)
    return tuple(
        Detectable(
            tasks=known.counted,
            discordance=decimal_string(psi),
            paired=None if found is None else decimal_string(found),
            unpaired=decimal_string(unpaired),
        )
        for psi in _discordances(request, pilot)
        for found in [planning.paired_detectable(float(psi), known.counted, known.deff, request.power)]
    )


def _for_difference(request: PlanRequest, known: Known, pilot: PilotFacts | None) -> tuple[TasksNeeded, ...]:
    """Tasks for a paired difference. All tasks count for it, so the suite needs no more."""
    if request.difference is None:
        return ()
    found = []
    for psi in _discordances(request, pilot):
        if psi < as_fraction(request.difference):
            continue
        needed = planning.paired_tasks(request.difference, float(psi), known.deff, request.power)
        found.append(
            TasksNeeded(
                target=decimal_string(request.difference), discordance=decimal_string(psi), counted=needed, suite=needed
            )
        )
    if not found:
        raise Malformed(
            "impossible-plan",
            f"expected a difference of at most the discordance, found {request.difference:g}",
            pointer="/difference",
            remedy="give the discordance that goes with so large a difference",
        )
    return tuple(found)


def _power(request: PlanRequest, known: Known, pilot: PilotFacts | None) -> str | None:
    """Chance to find the asked difference with the planned tasks; only where one discordance is known."""
    psi = _discordances(request, pilot)
    if request.difference is None or len(psi) != 1:
        return None
    return decimal_string(planning.paired_power(request.difference, float(psi[0]), known.counted, known.deff))


def _assumptions(
    request: PlanRequest, known: Known, pilot: PilotFacts | None, spread: Spread | None
) -> tuple[str, ...]:
    found = ["normal approximations, two-sided 95 %"]
    if request.deff is None and (pilot is None or pilot.deff is None):
        found.append("tasks count as independent (deff 1); cells of one task do not, so injections add no tasks")
    if known.clean_rate is None:
        found.append("without a clean rate, survival is taken as the utility under attack of all tasks")
    if request.discordance is None and (pilot is None or not pilot.discordance):
        found.append("discordance is not known: shown for 0.1, 0.2 and 0.3")
    if pilot is not None and request.discordance is None and pilot.discordance:
        found.append(
            "discordance is the pilot's own between its two arms; two systems may differ on more or fewer tasks"
        )
    if known.survival in (0, 1):
        found.append("at a rate of 0 or 1 the normal approximation has no width; a real interval has one")
    if spread is not None and request.components is None:
        found.append("variance components are estimates from one pilot, and uncertain themselves")
    if known.cells is not None and known.injections is not None and known.cells < known.tasks * known.injections:
        found.append("injections are counted in all groups together, and each task meets those of its own group")
    return tuple(found)

"""What a plan reckons with: sizes of a suite, facts of a pilot, and a request with its gaps filled."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from pairmark.domain.documents.evaluation_plan import PlanRequest
from pairmark.domain.errors import Malformed
from pairmark.domain.plan import Plan
from pairmark.stats import planning
from pairmark.stats.components import EstimatedComponents


@dataclass(frozen=True)
class PlannedSuite:
    """Sizes of a suite."""

    digest: str
    tasks: int
    injections: int
    cells: int

    @classmethod
    def of(cls, plan: Plan, digest: str) -> PlannedSuite:
        return cls(digest, plan.tasks, len(plan.suite.injections), plan.cells)


@dataclass(frozen=True)
class PilotFacts:
    """What a certified pilot says of the next evaluation; None where it says nothing."""

    certificate: str
    suite: PlannedSuite
    clean_rate: Fraction
    survival: Fraction | None
    deff: float | None
    discordance: Fraction | None
    components: EstimatedComponents | None
    seconds_per_episode: tuple[float, float] | None
    """Mean of the faster and of the slower arm."""


@dataclass(frozen=True)
class Known:
    """The request with its gaps filled from suite and pilot."""

    suite: str | None
    tasks: int
    injections: int | None
    cells: int | None
    clean_rate: Fraction | None
    survival: Fraction
    deff: float
    counted: int
    """Tasks that the surviving utility rests on."""


def fill_gaps(request: PlanRequest, suite: PlannedSuite | None, pilot: PilotFacts | None) -> Known:
    """What the plan reckons with.

    Raises:
        Malformed: no size or no rate to plan with, sizes that contradict each other, or a clean rate that leaves no task.
    """
    source = suite if suite is not None else None if pilot is None else pilot.suite
    tasks = request.tasks if request.tasks is not None else None if source is None else source.tasks
    if tasks is None:
        raise _missing("tasks", "a number of tasks, a suite or a pilot", "give one of `tasks`, `suite` and `pilot`")
    injections = request.injections if request.injections is not None else None if source is None else source.injections
    cells = request.cells
    if cells is None and request.tasks is None and request.injections is None and source is not None:
        cells = source.cells
    if cells is None and injections is not None:
        cells = tasks * injections
    if injections == 0 or cells == 0:
        raise Malformed(
            "impossible-plan",
            "expected a suite with attacked cells, found one that plans none",
            pointer="/suite" if request.suite is not None else "/pilot",
            remedy="plan with a suite whose tasks meet injections, or give `tasks` and `injections`",
        )
    if cells is not None and injections is not None and cells > tasks * injections:
        raise Malformed(
            "impossible-plan",
            f"expected at most {tasks} tasks × {injections} injections = {tasks * injections} cells, found {cells}",
            pointer="/cells",
            remedy="each task meets each injection once at most; more often is more epochs",
        )
    clean = (
        as_fraction(request.clean_rate)
        if request.clean_rate is not None
        else None
        if pilot is None
        else pilot.clean_rate
    )
    survival = (
        as_fraction(request.survival) if request.survival is not None else None if pilot is None else pilot.survival
    )
    if survival is None:
        raise _missing("survival", "the expected survival under attack", "give `survival`, or a pilot that shows one")
    counted = tasks if clean is None else planning.clean_tasks(tasks, clean)
    if counted < 1:
        raise Malformed(
            "impossible-plan",
            f"expected a clean rate that leaves at least one of {tasks} tasks, found {float(clean or 0):g}",
            pointer="/clean_rate",
            remedy="plan more tasks, or a system that does some of them",
        )
    deff = request.deff if request.deff is not None else None if pilot is None else pilot.deff
    digest = None if source is None else source.digest
    return Known(digest, tasks, injections, cells, clean, survival, 1.0 if deff is None else deff, counted)


def _missing(key: str, expected: str, remedy: str) -> Malformed:
    return Malformed("plan-needs-more", f"expected {expected}, found none", pointer=f"/{key}", remedy=remedy)


def as_fraction(number: float) -> Fraction:
    """The exact fraction that a number's shortest digits say: 0.71 is 71/100."""
    return Fraction(repr(number))

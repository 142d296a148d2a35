"""What an interval speaks for, and when there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pairmark.stats.crossing import Crossing

ScopeName: TypeAlias = Literal["tasks+injections", "these-injections"]

MIN_TASKS = 10
MIN_INJECTIONS = 8
AMPLE_INJECTIONS = 14
MIN_INJECTIONS_PER_GROUP = 2
FEW_INJECTIONS_FLAG = "few-injections"


@dataclass(frozen=True, slots=True)
class Scope:
    """What the intervals over a crossing speak for."""

    name: ScopeName
    """`tasks+injections`: for tasks and injections like these. `these-injections`: for these injections only."""
    flags: tuple[str, ...]
    """`few-injections` where there are 8 to 13."""
    no_interval_reason: str | None
    """Why no interval may be shown; None where one may."""

    @property
    def samples_injections(self) -> bool:
        """The `sample_injections` of `variance.clustered_variance`."""
        return self.name == "tasks+injections"


def decide_scope(crossing: Crossing) -> Scope:
    """The scope that the numbers of tasks and injections allow.

    Tasks and injections count in all groups together, an injection once in each group. A variance between injections
    needs 8 of them and 2 in every group; 14 are ample. Fewer than 10 tasks support no interval.
    """
    tasks, injections = crossing.task_count, crossing.injection_count
    reason = None
    if tasks < MIN_TASKS:
        reason = f"an interval needs at least {MIN_TASKS} tasks, found {tasks}"
    fewest = int(crossing.injections_per_group().min())
    if tasks < MIN_TASKS or injections < MIN_INJECTIONS or fewest < MIN_INJECTIONS_PER_GROUP:
        return Scope("these-injections", (), reason)
    flags = (FEW_INJECTIONS_FLAG,) if injections < AMPLE_INJECTIONS else ()
    return Scope("tasks+injections", flags, reason)

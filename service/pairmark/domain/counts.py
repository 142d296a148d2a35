"""Counts of cells × epochs in one arm."""

from __future__ import annotations

from pairmark.domain.documents.report import ArmCounts
from pairmark.domain.evidence import Arm, Experiment


def planned_cells(experiment: Experiment, arm: Arm) -> int:
    """Planned cells × the run's declared epochs."""
    cells = experiment.plan.tasks if arm.role == "benign" else experiment.plan.cells
    return cells * len(arm.run.epochs)


def arm_counts(experiment: Experiment, arm: Arm) -> ArmCounts:
    """Planned, present, assessed, aborted and blocked cells × epochs; cells outside the plan are in no count."""
    cells = experiment.cells_of(arm)
    kept = cells.expected
    return ArmCounts(
        planned=planned_cells(experiment, arm),
        present=int(kept.sum()),
        assessed=int((kept & cells.assessed).sum()),
        aborted=int((kept & cells.aborted).sum()),
        blocked=int((kept & cells.blocked).sum()),
    )

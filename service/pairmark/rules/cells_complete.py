"""Rule `cells-complete`: exactly the planned cells × declared epochs, each once."""

from __future__ import annotations

import polars as pl

from pairmark.domain.counts import planned_cells
from pairmark.domain.documents.report import EvidenceValue
from pairmark.rules.base import Context, Judgement, NoParams, Rule
from pairmark.rules.completeness import deviation_evidence, deviation_texts, deviations
from pairmark.rules.wording import counted, failed, passed

REMEDY = (
    "run what is missing and add it, take out what was not planned, and hand in one record per attempt;"
    " `pairmark suite show` lists the planned cells"
)


def judge(context: Context, params: NoParams) -> Judgement:  # noqa: ARG001
    """Holds both arms against the plan; nothing is intersected. Aborted cells count as present."""
    experiment = context.experiment
    plan, least = experiment.plan, experiment.suite.epochs
    expected = (
        f"{counted(plan.tasks, 'task')} in the benign arm and {counted(plan.cells, 'cell')} in the attacked arm,"
        f" in each of at least {counted(least, 'epoch')}, each once"
    )
    found: list[str] = []
    evidence: dict[str, EvidenceValue] = {}
    if plan.cells == 0:
        found.append("a manifest that plans no attacked cell")
    for arm in (experiment.benign, experiment.attacked):
        declared = len(arm.run.epochs)
        if declared < least:
            found.append(f"{counted(declared, 'declared epoch')} in the {arm.role} run")
        deviating = deviations(experiment, arm)
        found += deviation_texts(arm, deviating)
        evidence[arm.role] = {
            "planned": planned_cells(experiment, arm),
            "epochs": declared,
            "present": len(experiment.cells_of(arm)),
            **deviation_evidence(deviating),
        }
    if found:
        return failed(expected, found, REMEDY, evidence)
    benign, attacked = (planned_cells(experiment, arm) for arm in (experiment.benign, experiment.attacked))
    return passed(f"all {benign} benign and {attacked} attacked cells are there, each once", evidence)


RULE = Rule(
    id="cells-complete",
    version=1,
    title="both arms hold exactly the planned cells, in every declared epoch, each once",
    why=(
        "Arms over different tasks, a suite left out, or the hard cells missing change both numbers without any attack;"
        " the same count of other cells shows nothing. Taking the common part silently would hide it."
    ),
    source="public tables compare benign and attacked runs over separately drawn tasks; killed runs leave holes",
    remedy=REMEDY,
    judge=judge,
    passing=lambda world: world.abort("attacked", 1),
    failing=lambda world: world.drop_cells("attacked", pl.col("task_id").is_in(["task_003", "task_007"])),
)

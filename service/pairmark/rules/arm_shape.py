"""Rule `arm-shape`: benign is benign, attacked is attacked, and they are different runs."""

from __future__ import annotations

import numpy as np

from pairmark.domain.documents.report import EvidenceValue
from pairmark.domain.evidence import Arm
from pairmark.domain.world import World
from pairmark.rules.base import Context, Judgement, NoParams, Rule
from pairmark.rules.cell_names import first_lines
from pairmark.rules.wording import counted, failed, listed, passed

EXPECTED = (
    "benign episodes without an injection, attacked and baseline episodes each with one, runs declared so,"
    " and three different ledgers"
)
REMEDY = "hand each bundle in under the arm it is; for an undefended pair leave the baseline out"


def judge(context: Context, params: NoParams) -> Judgement:  # noqa: ARG001
    """Looks at every ledger line, at what each run declares, and at whether two arms are one ledger."""
    experiment = context.experiment
    found: list[str] = []
    evidence: dict[str, EvidenceValue] = {}
    if (experiment.benign.run.arm, experiment.attacked.run.arm) == ("attacked", "benign"):
        found.append("the two arms handed in the other way round: exchange them; most of what else fails follows from it")
    for arm in experiment.arms:
        texts, evidence[arm.role] = _shape(arm)
        found += texts
    first_with: dict[str, Arm] = {}
    for arm in experiment.arms:
        same = first_with.setdefault(arm.ledger_digest, arm)
        if same is not arm:
            found.append(f"the {arm.role} run has the ledger of the {same.role} run ({arm.ledger_digest})")
    if found:
        return failed(EXPECTED, found, REMEDY, evidence)
    return passed(f"{len(experiment.arms)} different runs, each with the episodes of its arm", evidence)


def _shape(arm: Arm) -> tuple[list[str], EvidenceValue]:
    benign = arm.role == "benign"
    declared = "benign" if benign else "attacked"
    found = []
    if arm.run.arm != declared:
        found.append(f"the {arm.role} run is declared {arm.run.arm}")
    if benign and arm.run.attack is not None:
        found.append(f"the benign run names an attack ({arm.run.attack.name})")
    if not benign and arm.run.attack is None:
        found.append(f"the {arm.role} run names no attack")
    without = arm.ledger["injection_id"].null_count()
    wrong = arm.ledger.height - without if benign else without
    names: tuple[str, ...] = ()
    if wrong:
        null = arm.ledger["injection_id"].is_null().to_numpy()
        names = first_lines(arm, np.flatnonzero(~null if benign else null))
        kind = "with an injection" if benign else "without an injection"
        found.append(f"{counted(wrong, 'episode')} {kind} in the {arm.role} arm ({listed(names, wrong)})")
    if arm.ledger.height == 0:
        found.append(f"no episode in the {arm.role} arm")
    return found, {
        "declared": arm.run.arm,
        "episodes": arm.ledger.height,
        "out_of_place": wrong,
        "cells": names,
        "ledger": arm.ledger_digest,
    }


RULE = Rule(
    id="arm-shape",
    version=1,
    title="each arm is what it is handed in as, and no arm is handed in twice",
    why=(
        "Folders get swapped, and a run compared with itself shows no drop. Harnesses also leave other files beside"
        " an arm: injection tasks run as user tasks look like benign episodes."
    ),
    source="AgentDojo 0.1.35 writes injection tasks run as user tasks to <suite>/injection_task_N/none/none.json",
    remedy=REMEDY,
    judge=judge,
    passing=World.undefended,
    failing=World.swap_arms,
)

"""Rule `model-matches`: one served model, the same in both arms."""

from __future__ import annotations

from pairmark.domain.documents.report import EvidenceValue
from pairmark.domain.world import World
from pairmark.rules.base import FIRST_CELLS, Context, Judgement, NoParams, Rule
from pairmark.rules.recorded import served_models
from pairmark.rules.wording import counted, failed, listed, passed

EXPECTED = "exactly one served model, recorded, the same in the benign and the attacked run"
REMEDY = (
    "record the snapshot that answered in `system.model.served` or in each episode's `served_model`, and run again what"
    " another one answered"
)


def judge(context: Context, params: NoParams) -> Judgement:  # noqa: ARG001
    """Takes the union of the run's `served` and every line's `served_model`; what was asked for does not matter."""
    found: list[str] = []
    evidence: dict[str, EvidenceValue] = {}
    served = {arm.role: served_models(arm) for arm in (context.experiment.benign, context.experiment.attacked)}
    for role, models in served.items():
        evidence[role] = {"count": len(models), "served": models[:FIRST_CELLS]}
        if not models:
            found.append(f"no served model recorded in the {role} run")
        elif len(models) > 1:
            found.append(f"{counted(len(models), 'served model')} in the {role} run ({listed(models, limit=5)})")
    if not found and served["benign"] != served["attacked"]:
        found.append(f"{served['benign'][0]} in the benign run, {served['attacked'][0]} in the attacked run")
    if found:
        return failed(EXPECTED, found, REMEDY, evidence)
    return passed(f"{served['benign'][0]} answered in both runs", evidence)


def _alias(world: World) -> World:
    return world.edit_run("benign", "/system/model/requested", "model-x-latest")


RULE = Rule(
    id="model-matches",
    version=1,
    title="one served model, recorded, and the same in both arms",
    why=(
        "An alias is served by another snapshot next week, and a router falls back after errors: then the arms compare"
        " two models. What was asked for does not say what answered."
    ),
    source="providers serve dated snapshots behind undated aliases, and say in each response which one answered",
    remedy=REMEDY,
    judge=judge,
    passing=_alias,
    failing=lambda world: world.swap_model("attacked"),
)

"""Rule `decoding-matches`: the same decoding parameters in both arms."""

from __future__ import annotations

from pairmark.rules.base import Context, Judgement, NoParams, Rule
from pairmark.rules.recorded import Comparison, decoding_fields, judge_comparison

EXPECTED = "every decoding key recorded, and equal by value in the benign and the attacked run"
REMEDY = "record what was sent (null where nothing was sent) in `system.decoding`, and run both arms with the same"


def judge(context: Context, params: NoParams) -> Judgement:  # noqa: ARG001
    """Compares key by key, the required ones and any other that either run records: 0 is 0.0, and null is not 0."""
    benign, attacked = context.experiment.benign, context.experiment.attacked
    fields = decoding_fields(benign.run.system.decoding, attacked.run.system.decoding)
    return judge_comparison(EXPECTED, Comparison("benign", "attacked", fields), REMEDY)


RULE = Rule(
    id="decoding-matches",
    version=1,
    title="decoding parameters are recorded and equal in both arms",
    why=(
        "Temperature moves utility by itself. Programs drop a temperature of 0 as if it were none, and the provider"
        " then uses its own default."
    ),
    source="provider interfaces default an omitted temperature to 1; run files of public harnesses seldom record it",
    remedy=REMEDY,
    judge=judge,
    passing=lambda world: world.edit_run("attacked", "/system/decoding/temperature", 0),
    failing=lambda world: world.edit_run("attacked", "/system/decoding/temperature", None),
)

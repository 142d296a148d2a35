"""Rule `tools-match`: the same tools in both arms."""

from __future__ import annotations

from pairmark.domain.world_parts import digest_of_text
from pairmark.rules.base import Context, Judgement, NoParams, Rule
from pairmark.rules.recorded import Compared, Comparison, judge_comparison, recorded

EXPECTED = "the tools digest recorded, and equal in the benign and the attacked run"
REMEDY = (
    "record the digest of the tools as the model saw them in `system.tools_digest`, and run both arms with the same"
)


def judge(context: Context, params: NoParams) -> Judgement:  # noqa: ARG001
    """Compares `system.tools_digest`."""
    benign, attacked = context.experiment.benign.run.system, context.experiment.attacked.run.system
    field = Compared("tools_digest", recorded(benign.tools_digest), recorded(attacked.tools_digest))
    return judge_comparison(EXPECTED, Comparison("benign", "attacked", (field,)), REMEDY)


RULE = Rule(
    id="tools-match",
    version=1,
    title="the tools are recorded and equal in both arms",
    why="A tool more, a tool less or a better description changes what an agent can do, attack or not.",
    source="defenses such as AgentDojo's tool filter work by changing the tools, and belong in both arms",
    remedy=REMEDY,
    judge=judge,
    passing=lambda world: world.edit_run("pair", "/system/tools_digest", digest_of_text("other tools in both")),
    failing=lambda world: world.edit_run("benign", "/system/tools_digest", digest_of_text("a tool more")),
)

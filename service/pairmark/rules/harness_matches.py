"""Rule `harness-matches`: the same harness in both arms."""

from __future__ import annotations

from pairmark.rules.base import Context, Judgement, NoParams, Rule
from pairmark.rules.recorded import Comparison, harness_fields, judge_comparison

EXPECTED = "harness name and version recorded, and with the image equal in the benign and the attacked run"
REMEDY = "record them in `harness`, and run both arms with the same harness"


def judge(context: Context, params: NoParams) -> Judgement:  # noqa: ARG001
    """Compares name, version and image; a null image means that none was used. The commit is recorded, not judged."""
    benign, attacked = context.experiment.benign.run, context.experiment.attacked.run
    fields = harness_fields(benign.harness, attacked.harness)
    return judge_comparison(EXPECTED, Comparison("benign", "attacked", fields), REMEDY)


RULE = Rule(
    id="harness-matches",
    version=1,
    title="harness name, version and image are recorded and equal in both arms",
    why="Checkers, prompts and tool behaviour live in the harness; a release between the arms changes all of them.",
    source="AgentDojo's run files record the package version beside the benchmark version: neither gives the other",
    remedy=REMEDY,
    judge=judge,
    passing=lambda world: world.edit_run("attacked", "/harness/commit", "1a2b3c4"),
    failing=lambda world: world.edit_run("attacked", "/harness/version", "1.1"),
)

"""Rule `suite-pinned`: every arm is of the one suite version."""

from __future__ import annotations

from pairmark.domain.documents.report import EvidenceValue
from pairmark.domain.world_parts import digest_of_text
from pairmark.rules.base import Context, Judgement, NoParams, Rule
from pairmark.rules.wording import failed, passed

REMEDY = (
    "give the manifest that the runs were made with, or run again on this one; `pairmark suite show` prints digests"
)


def judge(context: Context, params: NoParams) -> Judgement:  # noqa: ARG001
    """Compares the name and digest that each run cites with the manifest's."""
    experiment = context.experiment
    name, digest = experiment.suite.suite, experiment.suite_digest
    expected = f"every arm to cite suite {name} with digest {digest}"
    cited: dict[str, EvidenceValue] = {
        arm.role: {"name": arm.run.suite.name, "digest": arm.run.suite.digest} for arm in experiment.arms
    }
    found = [
        f"the {arm.role} run cites {arm.run.suite.name} with digest {arm.run.suite.digest}"
        for arm in experiment.arms
        if (arm.run.suite.name, arm.run.suite.digest) != (name, digest)
    ]
    evidence: dict[str, EvidenceValue] = {"manifest": {"name": name, "digest": digest}, "cited": cited}
    if found:
        return failed(expected, found, REMEDY, evidence)
    return passed(f"{len(cited)} arms cite suite {name} with digest {digest}", evidence)


RULE = Rule(
    id="suite-pinned",
    version=1,
    title="every arm cites the one suite version",
    why=(
        "A suite label outlives its content: tasks, checkers and environments are corrected under one name, and a"
        " folder that is resumed under a newer version keeps the old records. Two arms of different versions differ in"
        " more than the attack."
    ),
    source="AgentDojo has published seven versions of its suites, v1 to v1.2.2, that differ in tasks and checkers",
    remedy=REMEDY,
    judge=judge,
    passing=lambda world: world.edit_suite("/weighting", "cell"),
    failing=lambda world: world.edit_run("attacked", "/suite/digest", digest_of_text("the version before")),
)

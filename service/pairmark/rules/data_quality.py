"""Rule `data-quality`: every ledger is table-shaped as a ledger should be."""

from __future__ import annotations

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.report import EvidenceValue
from pairmark.domain.evidence import Arm
from pairmark.domain.quality import ExpectationResult, QualityResult
from pairmark.rules.base import FIRST_CELLS, Context, Judgement, NoParams, Rule
from pairmark.rules.wording import counted, failed, listed, passed

EXPECTED = "every expectation of the ledger suite to hold on every arm, over all of its rows"
REMEDY = "correct the rows at their source (the finding shows the first of them), and import the run again"


def judge(context: Context, params: NoParams) -> Judgement:  # noqa: ARG001
    """Asks the quality gate about every arm. A ledger without rows, or a result without expectations, shows nothing."""
    found: list[str] = []
    evidence: dict[str, EvidenceValue] = {}
    held = 0
    for arm in context.experiment.arms:
        result = context.quality(arm)
        broken = [each for each in result.expectations if not each.success]
        found += _reasons(arm, result, broken)
        held += len(result.expectations) - len(broken)
        evidence[arm.role] = {
            "suite": result.suite,
            "digest": result.digest,
            "rows": result.rows,
            "expectations": {
                each.code: {"rows": each.rows, "unexpected": each.unexpected} for each in result.expectations
            },
            "broken": tuple(_broken(each) for each in broken[:FIRST_CELLS]),
        }
    if found:
        return failed(EXPECTED, found, REMEDY, evidence)
    return passed(f"{counted(held, 'expectation')} hold over {counted(len(evidence), 'arm')}", evidence)


def _reasons(arm: Arm, result: QualityResult, broken: list[ExpectationResult]) -> list[str]:
    reasons = [
        f"{each.code} broken in {counted(each.unexpected, 'row')} of {each.rows} in the {arm.role} arm"
        + (f" ({listed(each.first)})" if each.first else "")
        for each in broken
    ]
    if arm.ledger.height == 0:
        reasons.append(f"no row in the {arm.role} arm")
    if result.rows != arm.ledger.height:
        reasons.append(f"{counted(result.rows, 'row')} looked at of {arm.ledger.height} in the {arm.role} arm")
    if not result.expectations:
        reasons.append(f"no expectation checked on the {arm.role} arm")
    if not result.success and not reasons:
        reasons.append(f"a result that does not hold for the {arm.role} arm, without a broken expectation")
    return reasons


def _broken(each: ExpectationResult) -> EvidenceValue:
    return {
        "code": each.code,
        "expectation": each.expectation,
        "arguments": canonical_bytes(each.arguments).decode(),
        "rows": each.rows,
        "unexpected": each.unexpected,
        "first": each.first[:FIRST_CELLS],
    }


RULE = Rule(
    id="data-quality",
    version=1,
    title="the expectation suite for episode ledgers holds on every arm",
    why="Negative durations, statuses beside the point and columns gone empty are signs of a broken import.",
    source="table-shaped checks of Great Expectations, kept as data in manifests/expectations/",
    remedy=REMEDY,
    judge=judge,
    passing=lambda world: world,
    failing=lambda world: world.drop_cells("benign"),
)

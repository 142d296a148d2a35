"""`data-quality` believes a gate only as far as it shows its work."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from pairmark.adapters.quality.gate import great_expectations_gate
from pairmark.domain.evidence import Arm
from pairmark.domain.quality import ExpectationResult, QualityResult
from pairmark.domain.world import World
from pairmark.rules.base import Context, Judgement, NoParams
from pairmark.rules.data_quality import RULE
from tests.rules.judging import rows_gate


@dataclass
class Gate:
    """Says of one arm what it is told to, and of the others that their rows are there."""

    role: str
    changes: dict[str, Any]
    asked: list[str] = field(default_factory=list)

    def __call__(self, arm: Arm) -> QualityResult:
        self.asked.append(arm.role)
        result = rows_gate(arm)
        return result.model_copy(update=self.changes) if arm.role == self.role else result


def broken(**changes: Any) -> ExpectationResult:
    values: dict[str, Any] = {
        "code": "duration-plausible",
        "expectation": "between",
        "arguments": {"min_value": 0.5},
        "success": False,
        "rows": 150,
        "unexpected": 2,
        "first": ("duration_ms -1", "duration_ms -2"),
    }
    return ExpectationResult(**{**values, **changes})


def judged(role: str = "attacked", world: World | None = None, **changes: Any) -> Judgement:
    experiment = (World() if world is None else world).experiment()
    return RULE.judge(Context(experiment, Gate(role, changes)), NoParams())


def test_every_arm_is_asked_about() -> None:
    for world, asked in ((World(), ["benign", "attacked", "baseline"]), (World().undefended(), ["benign", "attacked"])):
        gate = Gate("none", {})
        assert RULE.judge(Context(world.experiment(), gate), NoParams()).outcome == "passed"
        assert gate.asked == asked


@pytest.mark.parametrize("role", ["benign", "attacked", "baseline"])
def test_a_broken_expectation_is_named_with_rows_and_first_examples(role: str) -> None:
    found = judged(role, success=False, expectations=(broken(),))
    assert found.outcome == "failed"
    assert (
        f"duration-plausible broken in 2 rows of 150 in the {role} arm (duration_ms -1, duration_ms -2)"
        in found.message
    )
    evidence: Any = found.evidence[role]
    assert evidence["broken"] == (
        {
            "code": "duration-plausible",
            "expectation": "between",
            "arguments": '{"min_value":0.5}',
            "rows": 150,
            "unexpected": 2,
            "first": ("duration_ms -1", "duration_ms -2"),
        },
    )


def test_what_was_looked_at_is_in_the_finding_and_no_float_is() -> None:
    evidence: Any = judged(expectations=(broken(success=True, unexpected=0, first=()),)).evidence["attacked"]
    assert evidence["expectations"] == {"duration-plausible": {"rows": 150, "unexpected": 0}}
    assert (evidence["suite"], evidence["rows"], evidence["broken"]) == ("rows/1", 150, ())


def test_a_broken_expectation_is_believed_over_the_summary() -> None:
    assert judged(success=True, expectations=(broken(),)).outcome == "failed"


def test_and_the_summary_over_expectations_that_hold() -> None:
    assert judged(success=False).outcome == "failed"


def test_an_empty_ledger_never_passes() -> None:
    empty = World().drop_cells("benign")
    held = broken(success=True, rows=0, unexpected=0, first=())
    assert judged("benign", empty, success=True, expectations=(held,)).outcome == "failed"


def test_no_expectation_is_no_quality() -> None:
    assert judged(expectations=()).outcome == "failed"


def test_all_rows_have_to_have_been_looked_at() -> None:
    found = judged(rows=149)
    assert found.outcome == "failed"
    assert "149 rows looked at of 150 in the attacked arm" in found.message


def test_with_the_real_gate() -> None:
    gate = great_expectations_gate()
    assert RULE.judge(Context(World().experiment(), gate), NoParams()).outcome == "passed"
    spoilt = World().set("baseline", 3, duration_ms=-1)
    found = RULE.judge(Context(spoilt.experiment(), gate), NoParams())
    assert found.outcome == "failed"
    assert "duration-plausible broken in 3 rows of 150 in the baseline arm" in found.message
    assert RULE.judge(Context(World().drop_cells("benign").experiment(), gate), NoParams()).outcome == "failed"

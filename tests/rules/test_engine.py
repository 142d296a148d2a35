"""Every rule runs, a crash refuses, and findings fold into a verdict as the policy says."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.exceptions import PanicException

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.policy import Policy
from pairmark.domain.documents.report import Finding, Outcome, Verdict
from pairmark.domain.errors import Malformed
from pairmark.domain.evidence import Arm
from pairmark.domain.quality import QualityResult
from pairmark.domain.verdict import verdict_of
from pairmark.domain.world import World
from pairmark.rules.base import Context
from pairmark.rules.engine import judge_all
from pairmark.rules.registry import check_policy
from tests.rules.judging import policy, rows_gate

OUTCOMES: list[Outcome] = list(get_args(Outcome))
WORSE: dict[Verdict, int] = {"certified": 0, "quarantined": 1, "refused": 2}


def finding(outcome: Outcome) -> Finding:
    return Finding(rule="some-rule", outcome=outcome, message="", evidence={})


@given(st.lists(st.sampled_from(OUTCOMES)))
def test_a_verdict_follows_from_which_outcomes_there_are(outcomes: list[Outcome]) -> None:
    verdict = verdict_of([finding(outcome) for outcome in outcomes])
    if "failed" in outcomes or "crashed" in outcomes or not outcomes:
        assert verdict == "refused"
    elif "held" in outcomes:
        assert verdict == "quarantined"
    elif "passed" in outcomes:
        assert verdict == "certified"
    else:
        assert verdict == "refused"  # not applicable is not passed


@given(st.lists(st.sampled_from(OUTCOMES)), st.sampled_from(["failed", "held", "crashed"]))
def test_a_verdict_knows_no_order_and_never_improves_by_a_bad_finding(outcomes: list[Outcome], bad: Outcome) -> None:
    findings = [finding("passed"), *(finding(outcome) for outcome in outcomes)]
    verdict = verdict_of(findings)
    assert verdict_of(findings[::-1]) == verdict
    assert WORSE[verdict_of([*findings, finding(bad)])] >= WORSE[verdict]


@pytest.mark.parametrize(
    "crash", [ValueError("boom\u2028"), MemoryError(), RecursionError(), KeyError("x"), PanicException("in polars")]
)
def test_a_crash_is_a_finding_and_the_other_rules_still_run(crash: BaseException) -> None:
    def gate(arm: Arm) -> QualityResult:
        raise crash

    findings, flags = judge_all(policy(), Context(World().experiment(), gate))
    outcomes = {found.rule: found.outcome for found in findings}
    assert outcomes.pop("data-quality") == "crashed"
    assert set(outcomes.values()) == {"passed"}
    assert flags == ()
    assert verdict_of(findings) == "refused"
    assert type(crash).__name__ in findings[-1].message
    assert "\u2028" not in findings[-1].message


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(1)])
def test_a_person_who_stops_it_is_obeyed(stop: BaseException) -> None:
    def gate(arm: Arm) -> QualityResult:
        raise stop

    with pytest.raises(type(stop)):
        judge_all(policy(), Context(World().experiment(), gate))


def test_no_rule_is_short_circuited() -> None:
    wrong = World().swap_arms().edit_run("all", "/system/tools_digest", None).without_baseline()
    findings, _ = judge_all(policy(), Context(wrong.experiment(), rows_gate))
    assert [found.rule for found in findings] == [entry.id for entry in policy().rules]


def test_flags_of_rules_that_do_not_pass_are_not_raised() -> None:
    findings, flags = judge_all(policy("transcript-1"), Context(World().without_baseline().experiment(), rows_gate))
    assert verdict_of(findings) == "refused"
    assert flags == ()


def test_an_empty_policy_refuses() -> None:
    empty = Policy(schema="pairmark/policy/v1", name="empty", version="1", rules=())
    findings, _ = judge_all(empty, Context(World().experiment(), rows_gate))
    assert findings == ()
    assert verdict_of(findings) == "refused"


def changed(rule_id: str, **changes: object) -> Policy:
    value = policy().model_dump(mode="json", by_alias=True)
    for entry in value["rules"]:
        if entry["id"] == rule_id:
            entry.update(changes)
    return Policy.model_validate_json(canonical_bytes(value))


@pytest.mark.parametrize(
    ("rule", "changes", "code", "pointer"),
    [
        ("suite-pinned", {"id": "suite-pined"}, "unknown-rule", "/rules/0"),
        ("suite-pinned", {"version": 2}, "unknown-rule", "/rules/0"),
        ("suite-pinned", {"params": {"skip": True}}, "invalid-params", "/rules/0/params/skip"),
        ("aborts-within-limits", {"params": {"max_share": 0.05}}, "invalid-params", "/rules/12/params/max_gap"),
        (
            "aborts-within-limits",
            {"params": {"max_share": 5, "max_gap": 0.02}},
            "invalid-params",
            "/rules/12/params/max_share",
        ),
        (
            "aborts-within-limits",
            {"params": {"max_share": "0.05", "max_gap": 0.02}},
            "invalid-params",
            "/rules/12/params/max_share",
        ),
        (
            "aborts-within-limits",
            {"params": {"max_share": True, "max_gap": 0.02}},
            "invalid-params",
            "/rules/12/params/max_share",
        ),
        (
            "baseline-delivery",
            {"params": {"min_action_cells": -1, "min_delivered_share": 0}},
            "invalid-params",
            "/rules/14/params/min_action_cells",
        ),
        (
            "baseline-delivery",
            {"params": {"min_action_cells": 0.5, "min_delivered_share": 0}},
            "invalid-params",
            "/rules/14/params/min_action_cells",
        ),
        ("sign-plausible", {"params": {"alpha": 0}}, "invalid-params", "/rules/16/params/alpha"),
        ("sign-plausible", {"params": {"alpha": None}}, "invalid-params", "/rules/16/params/alpha"),
    ],
)
def test_a_policy_with_an_unknown_rule_or_wrong_parameters_is_refused(
    rule: str, changes: dict[str, object], code: str, pointer: str
) -> None:
    with pytest.raises(Malformed) as refusal:
        check_policy(changed(rule, **changes))
    assert (refusal.value.code, refusal.value.pointer) == (code, pointer)


def test_whole_numbers_are_fine_as_shares() -> None:
    check_policy(changed("aborts-within-limits", params={"max_share": 0, "max_gap": 1}))

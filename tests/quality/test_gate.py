"""The quality gate on real ledgers, with the real library."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import polars as pl
import pytest

from pairmark.adapters.quality.gate import great_expectations_gate, judge_ledger
from pairmark.adapters.quality.suite_file import ledger_expectations
from pairmark.domain.documents.policy import Policy, PolicyRule
from pairmark.domain.episodes import EPISODE_SCHEMA, empty_frame
from pairmark.domain.evidence import Role
from pairmark.domain.quality import ExpectationResult, QualityResult
from pairmark.domain.world import World
from pairmark.rules.base import Context
from pairmark.rules.engine import judge_all

SUITE = ledger_expectations()


def replaced(frame: pl.DataFrame, column: str, values: dict[int, Any]) -> pl.DataFrame:
    """The ledger with other values at some rows of one column."""
    found = frame[column].to_list()
    for row, value in values.items():
        found[row] = value
    return frame.with_columns(pl.Series(column, found, dtype=EPISODE_SCHEMA[column]))


def by_code(result: QualityResult) -> dict[str, ExpectationResult]:
    return {each.code: each for each in result.expectations}


@pytest.mark.parametrize("role", ["benign", "attacked", "baseline"])
def test_a_clean_ledger_holds_every_expectation(role: Role) -> None:
    arm = World().arm(role)
    result = great_expectations_gate()(arm)
    assert result.success
    assert result.rows == arm.ledger.height
    assert (result.suite, result.digest) == ("ledger/1", SUITE.digest)
    assert [each.code for each in result.expectations] == [each.code for each in SUITE.expectations]
    assert all(each.success and each.unexpected == 0 and each.first == () for each in result.expectations)


FAULTS: dict[str, tuple[Role, Callable[[pl.DataFrame], pl.DataFrame], int, str]] = {
    "task-recorded": ("attacked", lambda f: replaced(f, "task_id", {3: None}), 1, "null × "),
    "epoch-recorded": ("attacked", lambda f: replaced(f, "epoch", {0: None, 9: None}), 2, "epoch None"),
    "epoch-from-one": ("attacked", lambda f: replaced(f, "epoch", {5: 0, 7: -3}), 2, "epoch 0"),
    "attempt-recorded": ("benign", lambda f: replaced(f, "attempt", {2: None}), 1, "attempt null"),
    "attempt-from-one": ("benign", lambda f: replaced(f, "attempt", {2: 0}), 1, "attempt 0"),
    "line-once": ("benign", lambda f: pl.concat([f.head(1), f]), 2, "epoch 1, attempt 1"),
    "status-recorded": ("attacked", lambda f: replaced(f, "status", {1: None}), 1, "status null"),
    "status-known": (
        "attacked",
        lambda f: f.with_columns(pl.Series("status", ["done", "ok", *f["status"].cast(pl.String)[2:]])), 2, "status done",
    ),
    "actions-not-negative": ("attacked", lambda f: replaced(f, "attacker_actions", {4: -1}), 1, "attacker_actions -1"),
    "duration-plausible": (
        "attacked", lambda f: replaced(f, "duration_ms", {0: -1, 1: 2_678_400_001, 2: 2_678_400_000, 3: 0, 4: None}), 2,
        "duration_ms -1",
    ),
    "no-delivery-without-injection": ("benign", lambda f: replaced(f, "delivered", {6: True, 7: False}), 1, "delivered true"),
    "no-actions-without-injection": ("benign", lambda f: replaced(f, "attacker_actions", {8: 1, 9: 0}), 1, "attacker_actions 1"),
}


def test_every_expectation_has_a_fault_here() -> None:
    assert {*FAULTS, "rows-present"} == {each.code for each in SUITE.expectations}


@pytest.mark.parametrize("code", FAULTS)
def test_a_fault_breaks_its_expectation_and_no_other(code: str) -> None:
    role, spoil, rows, shown = FAULTS[code]
    frame = spoil(World().frame(role))
    result = judge_ledger(frame, SUITE)
    broken = [each for each in result.expectations if not each.success]
    assert not result.success
    assert [each.code for each in broken] == [code]
    assert broken[0].unexpected == rows
    assert len(broken[0].first) == min(rows, 20)
    assert shown in broken[0].first[0]


def test_examples_are_the_first_offending_lines_in_order_and_at_most_twenty() -> None:
    frame = World().frame("attacked").with_columns(duration_ms=pl.lit(-5, dtype=pl.Int64))
    found = by_code(judge_ledger(frame, SUITE))["duration-plausible"]
    first = frame.head(20).select("task_id", "injection_id").iter_rows()
    assert found.first == tuple(f"{task} × {injection}, epoch 1, attempt 1, duration_ms -5" for task, injection in first)
    assert found.unexpected == found.rows == frame.height > 20
    assert found.arguments == {"column": "duration_ms", "min_value": 0, "max_value": 2678400000}


def test_a_row_condition_counts_only_its_rows() -> None:
    both = pl.concat([World().frame("benign"), World().frame("attacked").with_columns(delivered=pl.lit(True))])
    found = by_code(judge_ledger(both, SUITE))["no-delivery-without-injection"]
    assert (found.success, found.rows, found.unexpected) == (True, 20, 0)
    assert found.arguments["row_condition"] == {"column": "injection_id", "is_null": True}


def test_a_harness_default_of_success_in_benign_episodes_is_no_fault() -> None:
    # It counts nowhere: attack success is taken from attacked episodes only.
    assert judge_ledger(World().frame("benign").with_columns(attack_success=pl.lit(True)), SUITE).success


def test_an_empty_ledger_does_not_pass() -> None:
    result = judge_ledger(empty_frame(), SUITE)
    assert not result.success
    assert result.rows == 0
    assert not any(each.success for each in result.expectations)


def test_null_is_a_value_and_breaks_nothing_that_does_not_ask_for_one() -> None:
    optional = [name for name in EPISODE_SCHEMA if name not in ("task_id", "injection_id", "epoch", "status", "attempt")]
    frame = World().frame("attacked").with_columns(pl.lit(None, dtype=EPISODE_SCHEMA[name]).alias(name) for name in optional)
    assert judge_ledger(frame, SUITE).success


def test_the_rule_names_the_expectation_and_its_rows() -> None:
    world = World().set("attacked", where=3, duration_ms=-7)
    policy = Policy.model_validate(
        {"schema": "pairmark/policy/v1", "name": "n", "version": "1", "rules": (PolicyRule(id="data-quality", version=1, params={}),)}
    )
    (finding,), _ = judge_all(policy, Context(world.experiment(), great_expectations_gate()))
    assert finding.outcome == "failed"
    assert "duration-plausible broken in 3 rows of 150 in the attacked arm" in finding.message
    assert "duration_ms -7" in finding.message


def test_eight_validations_at_once_each_get_their_own_counts() -> None:
    """A shared context gave wrong counts on two threads; here every ledger has another number of bad rows, in several columns."""
    clean = World().frame("attacked")

    def spoiled(bad: int) -> pl.DataFrame:
        frame = replaced(clean, "duration_ms", dict.fromkeys(range(bad), -1))
        frame = replaced(frame, "attacker_actions", dict.fromkeys(range(2 * bad), -1))
        return replaced(frame, "epoch", dict.fromkeys(range(3 * bad), 0))

    ledgers = {bad: spoiled(bad) for bad in range(8)}
    rounds = [bad for _ in range(4) for bad in ledgers]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda bad: judge_ledger(ledgers[bad], SUITE), rounds))
    for bad, result in zip(rounds, results, strict=True):
        found = by_code(result)
        assert found["duration-plausible"].unexpected == bad
        assert found["actions-not-negative"].unexpected == 2 * bad
        assert found["epoch-from-one"].unexpected == 3 * bad
        assert result.success == (bad == 0)


def test_the_library_is_not_imported_before_a_ledger_is_judged() -> None:
    code = (
        "import sys; from pairmark.adapters.quality.gate import great_expectations_gate; great_expectations_gate();"
        "sys.exit(any(name in sys.modules for name in ('great_expectations', 'pandas')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

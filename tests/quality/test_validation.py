"""What the validating library gets wrong is caught, never passed on."""

from __future__ import annotations

import gc
import json
import logging
import weakref
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairmark.adapters.quality import validation
from pairmark.adapters.quality.errors import QualityGateFault
from pairmark.adapters.quality.gate import judge_ledger, recount
from pairmark.adapters.quality.suite_file import Expectation, ExpectationSuite, ledger_expectations, read_expectations
from pairmark.adapters.quality.validation import validate
from pairmark.domain.documents.episode import STATUSES
from pairmark.domain.documents.policy import Policy, PolicyRule
from pairmark.domain.episodes import EPISODE_SCHEMA
from pairmark.domain.world import World
from pairmark.rules.base import Context
from pairmark.rules.engine import judge_all

SUITE = ledger_expectations()


def changed(suite: ExpectationSuite, code: str, **fields: Any) -> ExpectationSuite:
    """The suite with one expectation altered behind the reader's back."""

    def alter(each: Expectation) -> Expectation:
        return replace(each, **fields) if each.code == code else each

    return replace(suite, expectations=tuple(alter(each) for each in suite.expectations))


def test_an_expectation_that_the_library_drops_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    suite = changed(SUITE, "status-known", type="expect_nothing_of_the_kind")
    with caplog.at_level(logging.CRITICAL, "great_expectations"), pytest.raises(QualityGateFault) as fault:
        validate(World().frame("benign"), suite)
    assert fault.value.code == "expectation-dropped"
    assert "status-known" in str(fault.value)


def test_an_expectation_that_raises_inside_the_library_is_noticed() -> None:
    with pytest.raises(QualityGateFault) as fault:
        validate(World().frame("benign").with_columns(duration_ms=pl.col("task_id")), SUITE)
    assert fault.value.code == "expectation-crashed"
    assert "duration-plausible" in str(fault.value)


def test_counts_that_disagree_with_a_second_count_are_not_used() -> None:
    known = next(each for each in SUITE.expectations if each.code == "duration-plausible")
    blind = replace(known.kind, unexpected=lambda _: pl.lit(False))
    frame = World().set("benign", where=2, duration_ms=-1).frame("benign")
    with pytest.raises(QualityGateFault) as fault:
        judge_ledger(frame, changed(SUITE, "duration-plausible", kind=blind))
    assert fault.value.code == "counts-disagree"
    assert "found broken (2 of 20 rows) by Great Expectations" in str(fault.value)


def test_a_fault_of_the_gate_crashes_the_rule_and_so_refuses() -> None:
    suite = changed(SUITE, "rows-present", type="expect_nothing_of_the_kind")
    policy = Policy.model_validate(
        {"schema": "pairmark/policy/v1", "name": "n", "version": "1", "rules": (PolicyRule(id="data-quality", version=1, params={}),)}
    )
    (finding,), _ = judge_all(policy, Context(World().experiment(), lambda arm: judge_ledger(arm.ledger, suite)))
    assert finding.outcome == "crashed"
    assert "expectation-dropped" in finding.message


def test_the_library_is_asked_for_counts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []
    counted = validation._counted

    def remember(expectation: Expectation, result: Any) -> validation.Counted:
        seen.append(dict(result.result))
        return counted(expectation, result)

    monkeypatch.setattr(validation, "_counted", remember)
    validate(World().frame("attacked").with_columns(duration_ms=pl.lit(-1, dtype=pl.Int64)), SUITE)
    assert len(seen) == len(SUITE.expectations)
    assert all(not value for found in seen for key, value in found.items() if "list" in key or "index" in key)


def test_a_ledger_is_not_kept_after_its_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    frames: list[weakref.ref[Any]] = []
    convert = validation._pandas_frame

    def remember(ledger: pl.DataFrame, suite: ExpectationSuite) -> Any:
        frame = convert(ledger, suite)
        frames.append(weakref.ref(frame))
        return frame

    monkeypatch.setattr(validation, "_pandas_frame", remember)
    validate(World().frame("attacked"), SUITE)
    gc.collect()
    assert [frame() for frame in frames] == [None]


def test_no_column_is_converted_that_no_expectation_looks_at() -> None:
    columns = set(validation._pandas_frame(World().frame("attacked"), SUITE).columns)
    assert not columns & {"transcript_digest", "task_digest", "error", "served_model", "utility"}


ONE_OF_EACH_TYPE = ("injection_id", "epoch", "status", "delivered")

EVERY_KIND: list[dict[str, Any]] = [
    {"type": "expect_table_row_count_to_be_between", "arguments": {"min_value": 2, "max_value": 6}},
    {"type": "expect_table_row_count_to_be_between", "arguments": {"max_value": 4}},
    *({"type": "expect_column_values_to_not_be_null", "arguments": {"column": name}} for name in ONE_OF_EACH_TYPE),
    *({"type": "expect_column_values_to_be_null", "arguments": {"column": name}} for name in ONE_OF_EACH_TYPE),
    {"type": "expect_column_values_to_be_in_set", "arguments": {"column": "status", "value_set": ["completed", "no-such"]}},
    {"type": "expect_column_values_to_be_in_set", "arguments": {"column": "task_id", "value_set": ["a", "é"]}},
    {"type": "expect_column_values_to_be_in_set", "arguments": {"column": "utility", "value_set": [False]}},
    {"type": "expect_column_values_to_be_in_set", "arguments": {"column": "epoch", "value_set": [1, 2]}},
    {"type": "expect_column_values_to_not_be_in_set", "arguments": {"column": "delivered", "value_set": [True, False]}},
    {"type": "expect_column_values_to_not_be_in_set", "arguments": {"column": "attacker_actions", "value_set": [0]}},
    {"type": "expect_column_values_to_be_between", "arguments": {"column": "epoch", "min_value": 1}},
    {"type": "expect_column_values_to_be_between", "arguments": {"column": "duration_ms", "min_value": 1, "max_value": 2**53 - 2}},
    {"type": "expect_compound_columns_to_be_unique", "arguments": {"column_list": ["task_id", "injection_id", "epoch", "attempt"]}},
    {"type": "expect_compound_columns_to_be_unique", "arguments": {"column_list": ["injection_id", "served_model"]}},
    *(
        {"type": "expect_column_values_to_be_between", "arguments": {"column": "duration_ms", "min_value": 1}, "row_condition": where}
        for where in (
            {"column": "injection_id", "is_null": True},
            {"column": "delivered", "is_null": False},
            {"column": "status", "is_in": ["completed"]},
            {"column": "status", "is_in": ["cancelled", "infra_error", "no-such"]},
            {"column": "epoch", "is_in": [1, 3]},
            {"column": "utility", "is_in": [True]},
            {"column": "utility", "is_in": [True, False]},
        )
    ),
    {
        "type": "expect_column_values_to_be_null", "arguments": {"column": "utility"},
        "row_condition": {"column": "status", "is_in": ["infra_error", "cancelled"]},
    },
    {
        "type": "expect_column_values_to_not_be_in_set", "arguments": {"column": "attack_success", "value_set": [True]},
        "row_condition": {"column": "injection_id", "is_null": True},
    },
]


def every_kind() -> ExpectationSuite:
    listed = [{"code": f"e{index}", "why": "a test", **each} for index, each in enumerate(EVERY_KIND)]
    value = {"schema": "pairmark/expectations/v1", "name": "kinds", "version": "1", "expectations": listed}
    return read_expectations(json.dumps(value).encode())


KINDS_SUITE = every_kind()

_numbers = st.one_of(st.none(), st.sampled_from([0, 1, 2, 3, -1, 2**53 - 1, 2**53 - 2]))
_flags = st.one_of(st.none(), st.booleans())
_texts = st.one_of(st.none(), st.sampled_from(["a", "b", "é", "nan", "None", "<NA>", ""]))
_values: dict[type[Any], st.SearchStrategy[Any]] = {
    pl.Int64: _numbers, pl.Boolean: _flags, pl.String: _texts, pl.Enum: st.one_of(st.none(), st.sampled_from(STATUSES)),
}


@st.composite
def ledgers(draw: st.DrawFn) -> pl.DataFrame:
    """Up to eight rows of anything that the columns can hold."""
    rows = draw(st.integers(1, 8))
    columns = {
        name: pl.Series(name, draw(st.lists(_values[type(dtype)], min_size=rows, max_size=rows)), dtype=dtype)
        for name, dtype in EPISODE_SCHEMA.items()
    }
    return pl.DataFrame(columns)


@settings(max_examples=25)
@given(ledgers())
def test_both_counts_agree_on_any_ledger_and_every_allowed_type(ledger: pl.DataFrame) -> None:
    assert validate(ledger, KINDS_SUITE) == recount(ledger, KINDS_SUITE)

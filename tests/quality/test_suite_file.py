"""Expectation suites are data: read strictly, frozen once released, and unable to run anything."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.quality.kinds import KINDS
from pairmark.adapters.quality.suite_file import LEDGER_SUITE, ledger_expectations, read_expectations
from pairmark.domain.documents.episode import STATUSES
from pairmark.domain.documents.policy import Policy, PolicyRule
from pairmark.domain.errors import Malformed
from pairmark.resources import data_folder
from pairmark.rules.registry import check_policy

RELEASED = {"ledger/1": "sha256:6ff46de6cd8833b4ab37a91bbe30ff717615b1683013b1debed11ac2ccb2ff33"}


def shipped() -> dict[str, Any]:
    value = json.loads((data_folder("manifests") / "expectations" / LEDGER_SUITE).read_bytes())
    assert isinstance(value, dict)
    return value


def refusal_of(expectation: dict[str, Any]) -> Malformed:
    value = {**shipped(), "expectations": [*shipped()["expectations"], {"code": "added", "why": "a test", **expectation}]}
    with pytest.raises(Malformed) as refused:
        read_expectations(json.dumps(value).encode(), file="suite.json")
    assert refused.value.file == "suite.json"
    assert refused.value.pointer is not None
    assert refused.value.pointer.startswith(f"/expectations/{len(value['expectations']) - 1}")
    assert refused.value.remedy
    return refused.value


def test_the_released_suite_has_not_changed() -> None:
    suite = ledger_expectations()
    assert RELEASED[suite.name] == suite.digest, "a released suite is never edited: add ledger-2.json"


def test_the_statuses_are_those_of_the_contract() -> None:
    known = next(each for each in shipped()["expectations"] if each["code"] == "status-known")
    assert tuple(known["arguments"]["value_set"]) == STATUSES


def test_the_documentation_lists_the_expectations_the_types_and_the_refusals(repository: Path) -> None:
    text = (repository / "docs" / "data-quality.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", text, flags=re.MULTILINE))
    assert {each["code"]: each["why"] for each in shipped()["expectations"]}.items() <= rows.items()
    assert {name for name in rows if name.startswith("expect_")} == set(KINDS)
    for name, arguments in rows.items():
        if name.startswith("expect_"):
            assert re.findall(r"`(\w+)`", arguments) == sorted(KINDS[name].arguments.model_fields, key=arguments.find)
    refusals = {"unknown-expectation", "sql-expectation", "code-condition", "invalid-arguments"}
    assert refusals <= set(re.findall(r"`([a-z-]+)` \|$", text, flags=re.MULTILINE))


def test_every_expectation_says_why() -> None:
    assert all(len(each["why"]) > 20 for each in shipped()["expectations"])


@pytest.mark.parametrize(
    "name",
    [
        "expect_nonsense",
        "expect_column_values_to_match_regex",
        "expect_column_values_to_be_of_type",
        "ExpectColumnValuesToNotBeNull",
        "",
    ],
)
def test_an_unknown_type_is_refused(name: str) -> None:
    refused = refusal_of({"type": name, "arguments": {"column": "task_id"}})
    assert refused.code == ("unknown-expectation" if name else "invalid-value")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("unexpected_rows_expectation", {"unexpected_rows_query": "SELECT * FROM {batch}"}),
        ("expect_query_results_to_match_comparison", {"base_query": "SELECT 1", "comparison_query": "SELECT 1"}),
    ],
)
def test_sql_is_refused(name: str, arguments: dict[str, Any]) -> None:
    refused = refusal_of({"type": name, "arguments": arguments})
    assert refused.code == "sql-expectation"
    assert "SQL" in refused.message


@pytest.mark.parametrize("text", ["epoch > 0", '__import__("os").system("true")', ""])
def test_a_row_condition_in_text_is_refused(text: str) -> None:
    refused = refusal_of(
        {"type": "expect_column_values_to_be_null", "arguments": {"column": "error"}, "row_condition": text}
    )
    assert refused.code == "code-condition"
    assert refused.pointer is not None
    assert refused.pointer.endswith("/row_condition")


@pytest.mark.parametrize(
    "condition",
    [
        {"type": "pass_through", "pass_through_filter": "epoch > 0"},
        {"column": "epoch"},
        {"column": "epoch", "is_null": True, "is_in": [1]},
        {"column": "epoch", "is_in": []},
        {"column": "epoch", "is_in": ["1"]},
        {"column": "epoch", "is_in": [True]},
        {"column": "no_such_column", "is_null": True},
        {"column": "epoch", "is_null": 1},
        ["epoch > 0"],
        7,
    ],
)
def test_a_row_condition_of_another_shape_is_refused(condition: Any) -> None:
    refused = refusal_of(
        {"type": "expect_column_values_to_be_null", "arguments": {"column": "error"}, "row_condition": condition}
    )
    assert refused.code == "invalid-arguments"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("expect_column_values_to_be_null", {"column": "no_such_column"}),
        ("expect_column_values_to_be_null", {}),
        ("expect_column_values_to_be_null", {"column": "error", "mostly": 0.1}),
        ("expect_column_values_to_be_null", {"column": "error", "row_condition": "epoch > 0"}),
        ("expect_column_values_to_be_null", {"column": "error", "condition_parser": "pandas"}),
        ("expect_column_values_to_be_null", {"column": "error", "result_format": "COMPLETE"}),
        ("expect_column_values_to_be_in_set", {"column": "status", "value_set": []}),
        ("expect_column_values_to_be_in_set", {"column": "delivered", "value_set": [1]}),
        ("expect_column_values_to_be_in_set", {"column": "epoch", "value_set": [True]}),
        ("expect_column_values_to_be_in_set", {"column": "epoch", "value_set": [1.5]}),
        ("expect_column_values_to_be_in_set", {"column": "task_id", "value_set": [None]}),
        ("expect_column_values_to_be_between", {"column": "epoch"}),
        ("expect_column_values_to_be_between", {"column": "task_id", "min_value": 1}),
        ("expect_column_values_to_be_between", {"column": "epoch", "min_value": 2, "max_value": 1}),
        ("expect_column_values_to_be_between", {"column": "epoch", "min_value": 0.5}),
        ("expect_compound_columns_to_be_unique", {"column_list": ["task_id"]}),
        ("expect_compound_columns_to_be_unique", {"column_list": ["task_id", "task_id"]}),
        ("expect_table_row_count_to_be_between", {}),
    ],
)
def test_arguments_are_strict(name: str, arguments: dict[str, Any]) -> None:
    assert refusal_of({"type": name, "arguments": arguments}).code == "invalid-arguments"


@pytest.mark.parametrize("name", sorted(name for name, kind in KINDS.items() if not kind.conditional))
def test_a_type_about_the_whole_table_takes_no_row_condition(name: str) -> None:
    arguments = {"min_value": 1} if "row_count" in name else {"column_list": ["task_id", "epoch"]}
    condition = {"column": "injection_id", "is_null": True}
    assert refusal_of({"type": name, "arguments": arguments, "row_condition": condition}).code == "invalid-arguments"


def test_an_unknown_key_of_an_expectation_is_refused() -> None:
    refused = refusal_of({"type": "expect_column_values_to_be_null", "arguments": {"column": "error"}, "meta": {}})
    assert refused.code == "unknown-key"


def test_the_same_code_twice_is_refused() -> None:
    value = shipped()
    value["expectations"].append(value["expectations"][0])
    with pytest.raises(Malformed, match="code once"):
        read_expectations(json.dumps(value).encode())


def test_a_suite_that_expects_nothing_is_refused() -> None:
    with pytest.raises(Malformed) as refused:
        read_expectations(json.dumps({**shipped(), "expectations": []}).encode())
    assert refused.value.pointer == "/expectations"


@pytest.mark.parametrize(
    "expectation",
    [
        {"type": "expect_nonsense", "arguments": {}},
        {"type": "expect_column_values_to_be_null", "arguments": {"column": "error"}, "row_condition": "epoch > 0"},
        {"type": "unexpected_rows_expectation", "arguments": {"unexpected_rows_query": "SELECT 1"}},
        {"type": "expect_column_values_to_not_be_null", "arguments": {"column": "task_id"}},
    ],
)
def test_a_policy_cannot_bring_expectations_of_its_own(expectation: dict[str, Any]) -> None:
    rule = PolicyRule.model_validate({"id": "data-quality", "version": 1, "params": {"expectations": [expectation]}})
    policy = Policy.model_validate({"schema": "pairmark/policy/v1", "name": "own", "version": "1", "rules": (rule,)})
    with pytest.raises(Malformed) as refused:
        check_policy(policy)
    assert refused.value.code == "invalid-params"
    assert refused.value.pointer == "/rules/0/params/expectations"

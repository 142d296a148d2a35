"""Every installed rule keeps the contract of a rule: its own examples, its words, and what a finding may hold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.world import World
from pairmark.rules.base import FIRST_CELLS, NoParams, Rule
from pairmark.rules.registry import installed_rules
from tests.rules.judging import Judged, judge, policy

RULES = list(installed_rules().values())
KINDS = ("passing", "failing")


def named(rule: Rule) -> str:
    return f"{rule.id}/{rule.version}"


def example(rule: Rule, kind: str) -> World:
    return (rule.passing if kind == "passing" else rule.failing)(World())


@cache
def judged_example(rule: Rule, kind: str) -> Judged:
    return judge(example(rule, kind))


def test_a_plain_world_is_certified_without_flags() -> None:
    judged = judge(World())
    assert judged.verdict == "certified"
    assert judged.flags == ()
    assert judged.not_passed == set()


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_its_passing_example_passes(rule: Rule) -> None:
    judged = judged_example(rule, "passing")
    assert judged.outcome(rule.id) == "passed", judged.message(rule.id)
    assert judged.verdict == "certified", judged.not_passed


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_its_failing_example_does_not_pass(rule: Rule) -> None:
    judged = judged_example(rule, "failing")
    assert judged.outcome(rule.id) in ("failed", "held")
    assert judged.verdict != "certified"


@pytest.mark.parametrize("rule", RULES, ids=named)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_crashes_in_its_examples(rule: Rule, kind: str) -> None:
    assert not [rule for rule, finding in judged_example(rule, kind).findings.items() if finding.outcome == "crashed"]


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_a_finding_that_does_not_pass_says_expected_found_and_what_to_do(rule: Rule) -> None:
    message = judged_example(rule, "failing").message(rule.id)
    expected, found = message.index("expected "), message.index("; found ")
    assert expected < found
    assert rule.remedy.split(";")[0].split("(")[0].strip()[:20] in message[found:]


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_it_says_what_it_is_for(rule: Rule) -> None:
    for text in (rule.title, rule.why, rule.source, rule.remedy):
        assert len(text.split()) >= 5
        assert text == text.strip()
        assert "\n" not in text


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_it_lies_in_a_file_of_its_name(rule: Rule) -> None:
    module = rule.judge.__module__
    assert module == f"pairmark.rules.{rule.id.replace('-', '_')}"


def test_every_rule_has_its_file_and_no_two_share_one(repository: Path) -> None:
    files = {
        path.stem for path in (repository / "service/pairmark/rules").glob("*.py") if "\nRULE = " in path.read_text()
    }
    assert files == {rule.id.replace("-", "_") for rule in RULES}
    assert len(files) == len(RULES)


@pytest.mark.parametrize("name", ["standard-1", "transcript-1"])
def test_the_shipped_policies_name_every_rule_in_one_order(name: str) -> None:
    entries = policy(name).rules
    assert len(entries) == 18
    assert {(entry.id, entry.version) for entry in entries} == set(installed_rules())
    assert [entry.id for entry in entries] == [entry.id for entry in policy().rules]


def test_the_order_of_findings_is_the_policys_and_only_sign_plausible_runs_last() -> None:
    assert list(judge(World()).findings) == [entry.id for entry in policy().rules]
    assert [rule.id for rule in RULES if rule.last] == ["sign-plausible"]


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.params is NoParams], ids=named)
def test_a_rule_without_parameters_takes_none(rule: Rule) -> None:
    with pytest.raises(ValueError, match="extra"):
        rule.params.model_validate({"max_share": 1})


def values(value: object) -> Iterator[object]:
    yield value
    if isinstance(value, dict):
        for child in value.values():
            yield from values(child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from values(child)


@pytest.mark.parametrize("rule", RULES, ids=named)
@pytest.mark.parametrize("kind", KINDS)
def test_evidence_is_json_without_floats_and_lists_at_most_the_first_cells(rule: Rule, kind: str) -> None:
    for finding in judged_example(rule, kind).findings.values():
        canonical_bytes(finding.model_dump(mode="json"))
        for value in values(finding.evidence):
            assert not isinstance(value, float)
            assert not isinstance(value, tuple) or len(value) <= FIRST_CELLS


@pytest.mark.parametrize("rule", RULES, ids=named)
@pytest.mark.parametrize("kind", KINDS)
def test_it_finds_the_same_again(rule: Rule, kind: str) -> None:
    assert judge(example(rule, kind)) == judged_example(rule, kind)

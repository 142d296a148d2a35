"""The page on the numbers has every number, and its examples are right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from pairmark.domain.documents.metric_values import IntervalScope
from pairmark.domain.pairing import Pairing
from pairmark.domain.worked import worked
from pairmark.metrics.registry import installed_metrics, metrics_block

LABELS = ("Question", "Denominator", "Formula", "Undefined when", "Not for")


@pytest.fixture(scope="module")
def sections(repository: Path) -> dict[str, str]:
    page = (repository / "docs" / "metrics.md").read_text(encoding="utf-8")
    found = re.split(r"^## `([^`]+)`$", page, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def test_every_metric_has_its_section_and_no_other_has_one(sections: dict[str, str]) -> None:
    assert sections.keys() == {metric.key for metric in installed_metrics()}


@pytest.mark.parametrize("label", LABELS)
def test_every_section_answers_the_same_questions(sections: dict[str, str], label: str) -> None:
    assert [key for key, text in sections.items() if text.count(f"* **{label}:**") != 1] == []


@pytest.fixture
def three_tasks() -> dict[str, Pairing]:
    attacked = {"a": {"x": "0"}, "b": {"x": "1", "y": "1"}, "c": {"x": "1", "y": "1", "z": "1"}}
    return {
        weighting: worked({"a": "1", "b": "1", "c": "0"}, attacked, weighting=weighting)
        for weighting in ("task", "cell")
    }


def test_the_example_of_weights(three_tasks: dict[str, Pairing]) -> None:
    shown = {}
    for weighting, pairing in three_tasks.items():
        block, _ = metrics_block(pairing)
        shown[weighting] = [
            block[name]["fraction"] for name in ("benign_utility", "utility_under_attack", "utility_drop")
        ]
    assert shown == {"task": ["2/3", "2/3", "0/1"], "cell": ["1/2", "5/6", "-1/3"]}


def test_the_methods_named_are_those_there_are(repository: Path) -> None:
    page = (repository / "docs" / "metrics.md").read_text(encoding="utf-8")
    source = (repository / "service" / "pairmark" / "stats" / "intervals.py").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `([a-z-]+)` \| (?:Wilson|difference)", page, re.MULTILINE))
    made = {name for line in source.splitlines() if "return Interval(" in line for name in re.findall(r'"([a-z-]+)"', line)}
    assert named == made == {"wilson", "wilson-clustered-t", "paired-clustered-t", "floor"}


def test_the_scopes_named_are_those_there_are(repository: Path) -> None:
    page = (repository / "docs" / "metrics.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([a-z+-]+)` \| (?:a sample)", page, re.MULTILINE)
    assert set(named) == set(get_args(IntervalScope))

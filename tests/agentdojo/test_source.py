"""A checker digest covers what the check runs, and nothing that it does not."""

from __future__ import annotations

import importlib
import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.agentdojo.harness import needs_harness

pytestmark = needs_harness

NUMBERS = itertools.count()
"""No two modules of these tests have the same name."""

SOURCE = """
from agentdojo.base_tasks import BaseUserTask

LIMIT = 5
UNUSED = 7


def near(left, right):
    return abs(left - right) < LIMIT


class Task(BaseUserTask):
    PROMPT = "Pay."
    COMMENT = "a remark"
    _AMOUNT = 98

    def ground_truth(self, pre_environment):
        return []

    def utility(self, model_output: str, pre_environment, post_environment, strict: bool = True) -> bool:
        return near(post_environment.amount, self._AMOUNT)
"""


@pytest.fixture
def digest_of_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Checker digest of the task in a source text, as a module of the harness' package."""
    import agentdojo
    from pairmark.adapters.agentdojo.source import checker_digest

    monkeypatch.setattr(agentdojo, "__path__", [*agentdojo.__path__, str(tmp_path)])

    def digest(text: str) -> str:
        name = f"made_up_suite_{next(NUMBERS)}"
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        importlib.invalidate_caches()
        module = importlib.import_module(f"agentdojo.{name}")
        return checker_digest(module.Task(), ("init_environment", "utility", "utility_from_traces"))

    return digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("_AMOUNT = 98", "_AMOUNT = 99"),
        ("LIMIT = 5", "LIMIT = 6"),
        ("< LIMIT", "<= LIMIT"),
        ("near(post", "not near(post"),
        ('COMMENT = "a remark"', "def utility_from_traces(self, *rest):\n        return True"),
    ],
)
def test_a_change_that_the_check_can_feel_changes_it(digest_of_task: Any, old: str, new: str) -> None:
    assert digest_of_task(SOURCE) != digest_of_task(SOURCE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('PROMPT = "Pay."', 'PROMPT = "Pay now."'),
        ('COMMENT = "a remark"', 'COMMENT = "another"'),
        ("UNUSED = 7", "UNUSED = 8"),
        ("return []", "return [1]"),
        ("\nLIMIT = 5\nUNUSED = 7\n", "\nUNUSED = 7\n\n\nLIMIT = 5\n"),
    ],
)
def test_a_change_that_it_cannot_feel_does_not(digest_of_task: Any, old: str, new: str) -> None:
    assert digest_of_task(SOURCE) == digest_of_task(SOURCE.replace(old, new))


def test_a_combined_task_has_the_checks_of_its_parts() -> None:
    from pairmark.adapters.agentdojo.package import load_suite
    from pairmark.adapters.agentdojo.source import checker_digest

    tasks = load_suite("v1.2.2", "slack").user_tasks
    methods = ("init_environment", "utility", "utility_from_traces")
    combined = [checker_digest(tasks[f"user_task_{number}"], methods) for number in (17, 18, 19, 20)]
    assert len(set(combined)) == 4


def test_environment_data_keep_every_difference() -> None:
    from datetime import date, datetime

    from pairmark.adapters.agentdojo.environment import plain
    from pairmark.domain.canonical import digest_of

    values = [
        1,
        "1",
        True,
        None,
        2**60,
        str(2**60),
        date(2024, 1, 1),
        datetime(2024, 1, 1),  # noqa: DTZ001
        "2024-01-01",
        [1],
        {1: 2},
        {"1": 2},
    ]
    assert len({digest_of(plain(value)) for value in values}) == len(values)
    assert plain({"a": 1, "b": 2}) == plain({"b": 2, "a": 1})
    with pytest.raises(TypeError):
        plain(object())

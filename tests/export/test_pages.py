"""The pages about exports and probes, compared with runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.agentdojo.failures import failures
from pairmark.adapters.agentdojo.package import load_suite
from pairmark.adapters.agentdojo.probe import null_agent_passes
from pairmark.adapters.agentdojo.tags import tags_of
from pairmark.adapters.schemas import schema_of
from tests.agentdojo.harness import SUITES, needs_harness
from tests.export.packages import EVERY_VERSION
from tests.export.test_probes import NEVER_READ, UNSOLVED

ROW = re.compile(r"^\| (v[0-9.]+) \| ([0-9]+) of ([0-9]+) \| (.+) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def probes(repository: Path) -> str:
    return (repository / "docs" / "probes.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def exporting(repository: Path) -> str:
    return (repository / "docs" / "exporting-suites.md").read_text(encoding="utf-8")


def listed(page: str) -> dict[str, tuple[int, int, list[str]]]:
    return {
        version: (int(passed), int(tasks), re.findall(r"`(user_task_[0-9]+)`", names))
        for version, passed, tasks, names in ROW.findall(page)
    }


def passes(version: str, suite: str) -> list[str]:
    loaded = load_suite(version, suite)
    return null_agent_passes(loaded, loaded.load_and_inject_default_environment({}))


@needs_harness
@pytest.mark.parametrize("version", EVERY_VERSION)
def test_the_list_of_tasks_that_the_null_agent_passes(probes: str, version: str) -> None:
    passed, tasks, names = listed(probes)[version]
    assert passed == len(names)
    assert sorted(names) == sorted(passes(version, "banking"))
    assert tasks == sum(len(load_suite(version, suite).user_tasks) for suite in SUITES)


@needs_harness
@pytest.mark.parametrize("version", [pytest.param(each, marks=pytest.mark.slow) for each in EVERY_VERSION[:-1]] + ["v1.2.2"])
def test_the_null_agent_passes_no_task_of_the_other_suites(version: str) -> None:
    assert {suite: passes(version, suite) for suite in SUITES if suite != "banking"} == {
        "slack": [], "travel": [], "workspace": [],
    }  # fmt: skip


def test_every_version_is_listed(probes: str) -> None:
    assert tuple(listed(probes)) == EVERY_VERSION
    explained = re.findall(r"^\| `(user_task_[0-9]+)` \|", probes, re.MULTILINE)
    assert explained == listed(probes)["v1.2.2"][2]


def test_the_tables_of_the_other_probes_are_those_that_the_runs_are_held_to(probes: str) -> None:
    assert f"| agentdojo 0.1.35, {' and '.join(UNSOLVED)} | workspace `user_task_7` |" in probes
    for suite, vectors in NEVER_READ.items():
        assert f"| {suite} | {', '.join(f'`{vector}`' for vector in sorted(vectors))} |" in probes


@needs_harness
def test_the_failures_are_counted(probes: str) -> None:
    numbers = {17: "seventeen"}
    assert f"catches three of the {numbers[len(failures())]} failures" in probes


def test_every_key_of_a_probe_is_explained(probes: str) -> None:
    schema = schema_of("probe")
    keys: set[str] = set(schema["properties"])
    for part in schema["$defs"].values():
        keys |= set(part.get("properties", {}))
    section = probes.partition("## The document")[2]
    assert keys - set(re.findall(r"`([a-z_]+)`", section)) == set()


def test_every_kind_of_tag_is_explained(exporting: str) -> None:
    kinds: set[Any] = {re.sub(r":.*", "", tag) for tag in tags_of(["read_file", "send_money"])}
    explained = re.findall(r"^\| `([a-z-]+)(?::[A-Z]+)?` \|", exporting.partition("## Tags")[2], re.MULTILINE)
    assert set(explained) == kinds

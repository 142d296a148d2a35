"""The same label in two releases of a package: real packages, one a changed copy of the other, each in its own process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.agentdojo import export_suite
from pairmark.domain.canonical import canonical_bytes, digest_of, suite_digest
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.documents.suite_diff import SuiteDiff
from pairmark.domain.suite_diff import diff_suites
from tests.agentdojo.harness import SUITES, needs_harness
from tests.export.packages import EVERY_VERSION, change, copy_of, python, run

pytestmark = needs_harness
LABEL = "v1"
EXPORT_ALL = f"""
import json
from pairmark.adapters.agentdojo import export_suite
print(json.dumps([export_suite({LABEL!r}, [name], probe=False) for name in {SUITES!r}]))
"""
TASKS = "agentdojo/default_suites/v1/banking/user_tasks.py"
INJECTIONS = "agentdojo/default_suites/v1/banking/injection_tasks.py"


@pytest.fixture(scope="module")
def other_release(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What a release exports that differs in one text of each kind: in banking, slack and travel, and nowhere in workspace."""
    folder = copy_of("agentdojo", tmp_path_factory.mktemp("release"), release="0.1.36")
    change(folder, TASKS, "make sure to adjust my rent", "adjust my rent")
    change(folder, TASKS, "one thousand and fifty", "a thousand and fifty")
    change(folder, INJECTIONS, "the user's phone model", "the model of the user's phone")
    change(folder, INJECTIONS, '"deezer",', '"tidal",')  # a list that the check of one goal looks into
    change(folder, INJECTIONS, '"pasta", "salad"]', '"pasta", "ramen"]')  # and one that no check does
    change(folder, "agentdojo/data/suites/slack/injection_vectors.yaml", 'default: "0"', 'default: "1"')
    change(folder, "agentdojo/default_suites/v1/tools/slack.py", "the list of channels in the slack", "all channels")
    change(folder, "agentdojo/data/suites/travel/environment.yaml", "Le Marais Boutique", "Le Marais Hotel")
    manifests = python(EXPORT_ALL, packages=folder, seed="123", cwd=folder)
    return dict(zip(SUITES, manifests, strict=True))


def difference(suite: str, other: dict[str, dict[str, Any]]) -> SuiteDiff:
    here, there = export_suite(LABEL, [suite], probe=False), other[suite]
    assert (here["suite"], here["version"]) == (there["suite"], there["version"])  # one label
    models = [SuiteManifest.model_validate_json(canonical_bytes(value)) for value in (here, there)]
    return diff_suites(models[0], suite_digest(here), models[1], suite_digest(there))


def changed(items: Any) -> dict[str, tuple[str, ...]]:
    return {item.id: item.parts for item in items.changed}


def test_a_changed_prompt_goal_or_check_is_seen_where_it_is(other_release: dict[str, dict[str, Any]]) -> None:
    found = difference("banking", other_release)
    assert found.left.digest != found.right.digest
    assert changed(found.tasks) == {"user_task_1": ("checker",), "user_task_2": ("prompt",)}
    assert changed(found.injections) == {"injection_task_0": ("checker",), "injection_task_3": ("prompt",)}
    assert found.settings == ()
    assert found.tools.changed == ()
    assert found.attacked_cells.surviving == 14 * 7


def test_a_changed_vector_or_tool_is_seen(other_release: dict[str, dict[str, Any]]) -> None:
    found = difference("slack", other_release)
    assert [setting.setting for setting in found.settings] == ["environment.digest"]
    assert found.tools.changed == ("get_channels",)
    assert changed(found.tasks) == changed(found.injections) == {}
    assert found.comparability == "none"


def test_changed_data_are_seen(other_release: dict[str, dict[str, Any]]) -> None:
    found = difference("travel", other_release)
    assert [setting.setting for setting in found.settings] == ["environment.digest"]
    assert found.tools.changed == ()


def test_what_did_not_change_has_its_digest_in_any_release_folder_process_and_hash_order(
    other_release: dict[str, dict[str, Any]],
) -> None:
    here, there = export_suite(LABEL, ["workspace"], probe=False), other_release["workspace"]
    assert suite_digest(here) == suite_digest(there)
    assert there["source"]["package"] == "agentdojo==0.1.36"
    del here["source"], here["description"], there["source"], there["description"]
    assert here == there


def test_a_framework_that_no_digest_covers_has_to_be_the_known_one(tmp_path: Path) -> None:
    folder = copy_of("agentdojo", tmp_path / "packages", release="0.1.36")
    change(folder, "agentdojo/task_suite/task_suite.py", "return utility, security\n", "return True, security\n")
    command = [
        sys.executable,
        "-m",
        "pairmark.cli.main",
        "suite",
        "export",
        "agentdojo",
        "--benchmark-version",
        "v1.2.2",
    ]
    done = run([*command, "--suite", "banking", "-o", str(tmp_path / "suite.json")], packages=folder)
    assert done.returncode == 2
    assert done.stderr.endswith("[harness-changed]\n")
    assert "agentdojo==0.1.35" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "suite.json").exists()


@pytest.mark.slow
def test_every_suite_of_every_version_is_exported_alike_from_another_place_by_another_process(tmp_path: Path) -> None:
    from agentdojo.task_suite.load_suites import get_suites

    folder = copy_of("agentdojo", tmp_path)
    code = (
        "import json; from pairmark.adapters.agentdojo import export_suite; from pairmark.domain.canonical import digest_of;"
        f"print(json.dumps([digest_of(export_suite(v, [s], probe=False)) for v in {EVERY_VERSION!r} for s in {SUITES!r}]))"
    )
    elsewhere = python(code, packages=folder, seed="4711", cwd=tmp_path)
    here = []
    for version in EVERY_VERSION:
        for suite in SUITES:
            value = export_suite(version, [suite], probe=False)
            found = SuiteManifest.model_validate_json(canonical_bytes(value))
            loaded = get_suites(version)[suite]
            assert {task.id for task in found.tasks} == set(loaded.user_tasks)
            assert {injection.id for injection in found.injections} == set(loaded.injection_tasks)
            assert {tool.name for tool in found.tools} == {tool.name for tool in loaded.tools}
            here.append(digest_of(value))
    assert here == elsewhere
    assert len(set(here)) == len(here)  # each has a label of its own

"""What the installed package exports is what ships, whatever process exports it, and holds facts only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.agentdojo import export_suite
from pairmark.adapters.agentdojo.package import load_suite
from pairmark.adapters.agentdojo.probe import null_agent_passes
from pairmark.adapters.agentdojo.tags import tags_of
from pairmark.domain.canonical import suite_digest
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed
from tests.agentdojo.harness import REPOSITORY, SUITES, VERSIONS, needs_harness, shipped, tool

CELLS = {
    "v1.1.2": {"banking": (16, 9), "slack": (21, 5), "travel": (20, 7), "workspace": (40, 6)},
    "v1.2.2": {"banking": (16, 9), "slack": (21, 5), "travel": (20, 7), "workspace": (40, 14)},
}
DIGESTS = {
    "banking v1.1.2": "9700022b3723672f9ae9ed8e620bceab8f5b7556970adc82a562024ee944f948",
    "banking v1.2.2": "fccaa8602da7bf04cde864184f2342d68ebee937b22a9a4e0b76a107545f6f15",
    "slack v1.1.2": "98811cab012a2adfe9339a648c20dd9333f1e0b078c11b253f615ef24e1077d7",
    "slack v1.2.2": "041eaa9c1486cef08298a6aeb10c790383b6bb67222b1776761ac633be3271a1",
    "travel v1.1.2": "27c072f038049e98c4630b43db541e36b3c3cbf4104802c95fbb680a4e33acc3",
    "travel v1.2.2": "df6a454e15678331af56f2b83fe390d2133f970063e9a59a346c9e0fd0e946d4",
    "workspace v1.1.2": "cd4bc05f70d2355f362a9513af0783610b8794c1b1a959b8c0b4dd10c15797ad",
    "workspace v1.2.2": "fe3021a44d0fe6ffd34ef255c360b726fefc8b68eca0fbb52949094a0485a6e8",
}
"""What the content of each has been called since it shipped: another digest cuts every history."""
ALL = [(suite, version) for version in VERSIONS for suite in SUITES]


def manifest(suite: str, version: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(shipped(suite, version).read_text(encoding="utf-8"))
    return value


@pytest.mark.parametrize(("suite", "version"), ALL)
def test_a_shipped_manifest_is_well_formed_and_has_its_cells(suite: str, version: str) -> None:
    path = shipped(suite, version)
    found, _ = read_document(SuiteManifest, path.read_bytes(), file=str(path))
    assert (found.suite, found.version) == (f"agentdojo/{suite}", version)
    assert (len(found.tasks), len(found.injections)) == CELLS[version][suite]
    assert {task.group for task in found.tasks} == {suite}
    assert found.probes is not None
    assert found.probes.null_agent is not None
    assert found.probes.canary is not None
    assert found.probes.canary.delivery_ceiling == f"{len(found.tasks) * len(found.injections)}/{len(found.tasks) * len(found.injections)}"


@pytest.mark.parametrize(("suite", "version"), ALL)
def test_a_shipped_suite_keeps_its_digest_whatever_probes_it_records(suite: str, version: str) -> None:
    value = manifest(suite, version)
    assert suite_digest(value) == f"sha256:{DIGESTS[f'{suite} {version}']}"
    older = {**value, "probes": {"null_agent": value["probes"]["null_agent"]}}
    read_document(SuiteManifest, json.dumps(older).encode())
    for other in (older, {key: part for key, part in value.items() if key != "probes"}):
        assert suite_digest(other) == suite_digest(value)


def test_the_shipped_suites_have_the_cells_that_are_published() -> None:
    assert [sum(t * i for t, i in CELLS[version].values()) for version in VERSIONS] == [629, 949]


def test_the_null_agent_passes_five_of_97_tasks_and_four_of_the_older_ones() -> None:
    passed = {
        version: [manifest(suite, version)["probes"]["null_agent"]["utility"].split("/") for suite in SUITES]
        for version in VERSIONS
    }
    assert {
        v: tuple(sum(int(part) for part in parts) for parts in zip(*f, strict=True)) for v, f in passed.items()
    } == {
        "v1.1.2": (4, 97),
        "v1.2.2": (5, 97),
    }


@needs_harness
@pytest.mark.parametrize(("suite", "version"), ALL)
def test_the_installed_package_exports_what_ships(suite: str, version: str) -> None:
    expected = shipped(suite, version).read_text(encoding="utf-8")
    probe = suite == "banking"  # the others' are tried by the slow test
    exported = export_suite(version, [suite], probe=probe)
    if not probe:
        exported["probes"] = json.loads(expected)["probes"]
    assert tool("export_suites").text_of(exported) == expected


@needs_harness
@pytest.mark.slow
@pytest.mark.parametrize(("suite", "version"), ALL)
def test_the_probes_find_what_ships(suite: str, version: str) -> None:
    loaded = load_suite(version, suite)
    passes = null_agent_passes(loaded, loaded.load_and_inject_default_environment({}))
    probes = manifest(suite, version)["probes"]
    assert f"{len(passes)}/{len(loaded.user_tasks)}" == probes["null_agent"]["utility"]
    assert export_suite(version, [suite])["probes"] == probes


@needs_harness
def test_another_process_in_another_folder_exports_the_same(tmp_path: Path) -> None:
    code = (
        "import sys; from pairmark.adapters.agentdojo import export_suite; from pairmark.domain.canonical import suite_digest;"
        "sys.stdout.write(suite_digest(export_suite('v1.2.2', ['banking', 'slack'], probe=False)))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": str(REPOSITORY / "service"), "TZ": "Asia/Tokyo"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout == suite_digest(export_suite("v1.2.2", ["banking", "slack"], probe=False))


@needs_harness
@pytest.mark.parametrize(("suite", "version"), ALL)
def test_no_text_of_the_harness_is_shipped(suite: str, version: str) -> None:
    text = shipped(suite, version).read_text(encoding="utf-8")
    loaded = load_suite(version, suite)
    texts = [task.PROMPT for task in loaded.user_tasks.values()] + [
        task.GOAL for task in loaded.injection_tasks.values()
    ]
    assert not [prompt for prompt in texts if prompt[:25] in text]


def parts_changed(kind: str, suite: str, part: str) -> list[str]:
    old, new = ({item["id"]: item for item in manifest(suite, version)[kind]} for version in VERSIONS)
    return [name for name in old if name in new and old[name][part] != new[name][part]]


def test_digests_tell_which_part_changed_between_versions() -> None:
    """By the harness' own record of changes: `default_suites/v1_2` to `v1_2_2`."""
    assert {suite: parts_changed("tasks", suite, "digest") for suite in SUITES} == {
        "banking": [], "slack": ["user_task_11"], "travel": [], "workspace": ["user_task_0"],
    }  # fmt: skip
    assert {suite: parts_changed("tasks", suite, "checker") for suite in SUITES} == {
        "banking": ["user_task_6"],
        "slack": ["user_task_2"],
        "travel": ["user_task_1"],
        "workspace": ["user_task_0", "user_task_16", "user_task_17", "user_task_18"],
    }
    assert {suite: parts_changed("injections", suite, "digest") for suite in SUITES} == {
        "banking": [f"injection_task_{number}" for number in (0, 1, 2, 3, 4, 5, 6, 8)],
        "slack": [],
        "travel": ["injection_task_2"],
        "workspace": ["injection_task_3"],
    }
    assert {suite: parts_changed("injections", suite, "checker") for suite in SUITES} == {
        "banking": [], "slack": [], "travel": [], "workspace": ["injection_task_3"],
    }  # fmt: skip
    for suite in SUITES:
        assert manifest(suite, "v1.1.2")["environment"] == manifest(suite, "v1.2.2")["environment"]


@needs_harness
def test_versions_with_equal_content_share_a_digest() -> None:
    digests = {
        version: suite_digest(export_suite(version, ["slack"], probe=False))
        for version in ("v1", "v1.1", "v1.1.1", "v1.2")
    }
    assert digests["v1"] == digests["v1.1"] != digests["v1.1.1"]
    assert digests["v1.1.1"] == suite_digest(manifest("slack", "v1.1.2"))
    assert digests["v1.2"] == suite_digest(manifest("slack", "v1.2.2"))


@needs_harness
def test_several_suites_are_groups_with_qualified_ids() -> None:
    both = export_suite("v1.2.2", ["banking", "slack"], probe=False)
    assert both["suite"] == "agentdojo/banking+slack"
    assert (both["tasks"][0]["id"], both["tasks"][-1]["id"]) == ("banking/user_task_0", "slack/user_task_20")
    assert [task["digest"] for task in both["tasks"]] == [
        task["digest"] for suite in ("banking", "slack") for task in manifest(suite, "v1.2.2")["tasks"]
    ]
    assert "probes" not in both
    read_document(SuiteManifest, json.dumps(both).encode())
    probed = export_suite("v1.2.2", ["banking", "slack"])["probes"]
    assert probed["null_agent"]["utility"] == "5/37"
    shares = {key: probed["canary"][key] for key in ("reachable_pairs", "reachable_tasks", "delivery_ceiling")}
    assert shares == {"reachable_pairs": "44/190", "reachable_tasks": "37/37", "delivery_ceiling": "249/249"}


@needs_harness
@pytest.mark.parametrize(
    ("version", "names", "code"),
    [
        ("v9", ["banking"], "unknown-version"),
        ("v1.2.2", ["shopping"], "unknown-suite"),
        ("v1.2.2", [], "usage"),
        ("v1.2.2", ["slack", "slack"], "usage"),
    ],
)
def test_what_the_package_does_not_know_is_refused(version: str, names: list[str], code: str) -> None:
    with pytest.raises(Malformed) as caught:
        export_suite(version, names, probe=False)
    assert caught.value.code == code
    assert caught.value.remedy


@needs_harness
def test_asking_for_an_unknown_version_leaves_nothing_behind() -> None:
    for _ in range(2):
        with pytest.raises(Malformed, match=r"v1\.2\.2, found"):
            export_suite("v9", ["banking"])


def test_without_the_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agentdojo.task_suite.load_suites", None)
    with pytest.raises(Malformed, match="pip install") as caught:
        export_suite("v1.2.2", ["banking"])
    assert caught.value.code == "missing-extra"


@needs_harness
def test_another_release_of_the_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pairmark.adapters.agentdojo.package.version", lambda name: "0.2.0")
    with pytest.raises(Malformed) as caught:
        export_suite("v1.2.2", ["banking"])
    assert caught.value.code == "harness-version"


@pytest.mark.parametrize(
    ("calls", "tags"),
    [
        (["read_file", "send_money"], ["calls:2", "tools:2", "multi-hop", "tool:read_file", "tool:send_money"]),
        (["send_money", "read_file"], ["calls:2", "tools:2", "tool:read_file", "tool:send_money"]),
        (["get_iban", "get_iban"], ["calls:2", "tools:1", "tool:get_iban"]),
        (["send_money", "send_money"], ["calls:2", "tools:1", "tool:send_money"]),
        ([], ["calls:0", "tools:0"]),
    ],
)
def test_tags_come_from_the_ground_truths_calls(calls: list[str], tags: list[str]) -> None:
    assert tags_of(calls) == tags

"""Files that disagree on what they ran under are not one run; what they agree on is taken from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.canonical import digest_of_bytes
from pairmark.domain.errors import Malformed
from tests.importers.logs import SYSTEM, asked, manifest, one, put, read, record, says

PACKAGE = {"harness": "agentdojo", "package": "agentdojo==0.1.35", "license": "MIT"}


def test_mixed_benchmark_versions_are_refused_and_named(tmp_path: Path) -> None:
    put(tmp_path, record("user_task_0", benchmark_version="v1.1.1"))
    put(tmp_path, record("user_task_1", benchmark_version="v1.2.2"))
    with pytest.raises(Malformed, match=r"v1\.1\.1.*in 1 files.*v1\.2\.2") as caught:
        read(tmp_path, "benign")
    assert caught.value.code == "mixed-benchmark-versions"


@pytest.mark.parametrize(
    ("key", "values", "code"),
    [
        ("agentdojo_package_version", ("0.1.34", "0.1.35"), "mixed-package-versions"),
        ("agentdojo_package_version", (None, "0.1.35"), "mixed-package-versions"),
        ("benchmark_version", (None, "v1.2.2"), "mixed-benchmark-versions"),
        ("messages", ([*asked(), says()], [*asked(system="Be evil."), says()]), "mixed-system-prompts"),
        ("messages", ([*asked(), says()], [*asked(system=None), says()]), "mixed-system-prompts"),
    ],
)
def test_files_that_disagree_are_not_one_run(tmp_path: Path, key: str, values: tuple[Any, Any], code: str) -> None:
    for number, value in enumerate(values):
        put(tmp_path, record(f"user_task_{number}", **{key: value}))
    with pytest.raises(Malformed) as caught:
        read(tmp_path, "benign")
    assert caught.value.code == code


def test_a_record_without_messages_says_nothing_of_the_system_prompt(tmp_path: Path) -> None:
    put(tmp_path, record("user_task_0"))
    put(tmp_path, record("user_task_1", messages=[], leave_out=["utility"]))
    assert read(tmp_path, "benign").run["system"]["system_prompt_digest"] == digest_of_bytes(SYSTEM.encode())


def test_other_arms_in_the_folder_may_be_of_another_version(tmp_path: Path) -> None:
    put(tmp_path, record())
    put(tmp_path, record(injection="injection_task_0", agentdojo_package_version="0.1.34"))
    assert read(tmp_path, "benign").run["harness"]["version"] == "0.1.35"
    assert read(tmp_path, "attacked").run["harness"]["version"] == "0.1.34"


def test_records_of_another_benchmark_version_than_the_exported_manifests_are_refused(tmp_path: Path) -> None:
    put(tmp_path, record(benchmark_version="v1.1.1"))
    with pytest.raises(Malformed, match=r"export the suite at v1\.1\.1") as caught:
        read(tmp_path, "benign", manifest(source=PACKAGE))
    assert caught.value.code == "benchmark-version"


@pytest.mark.parametrize(
    ("label", "recorded", "noted"),
    [
        ("v1.2.2-observed", "v1.2.2", False),
        ("v1.2.2-observed", "v1.2", True),
        ("mine", "v1.2.2", True),
        ("v1.2.2", None, True),
    ],
)
def test_an_observed_manifest_with_another_label_is_noted(
    tmp_path: Path, label: str, recorded: str | None, noted: bool
) -> None:
    put(tmp_path, record(benchmark_version=recorded))
    notes = read(tmp_path, "benign", manifest(version=label)).notes
    assert any("benchmark version" in note for note in notes) is noted


def test_the_pipelines_name_in_the_files_may_be_another_than_the_folders_but_is_one(tmp_path: Path) -> None:
    put(tmp_path, record("user_task_0", pipeline_name="model-0"))
    without = record("user_task_1", leave_out=["pipeline_name"])
    put(tmp_path, without)
    assert read(tmp_path, "benign").episodes.height == 2
    put(tmp_path, {**without, "pipeline_name": "model-1"})
    with pytest.raises(Malformed, match=r"model-0.*model-1") as caught:
        read(tmp_path, "benign")
    assert caught.value.code == "mixed-pipeline-names"


@pytest.mark.parametrize(
    "changed",
    [
        {"suite_name": "slack"},
        {"user_task_id": "user_task_1"},
        {"injection_task_id": "injection_task_1"},
        {"attack_type": "direct"},
        {"attack_type": None, "injection_task_id": None},
    ],
)
def test_a_record_in_another_records_place_is_not_read_as_either(tmp_path: Path, changed: dict[str, Any]) -> None:
    good = record(injection="injection_task_0")
    put(tmp_path, good | changed, "bank/user_task_0/important_instructions/injection_task_0.json")
    found = read(tmp_path, "attacked")
    assert found.episodes["status"].to_list() == ["cancelled"]
    assert found.episodes["utility"].to_list() == [None]
    assert (
        "expected the record of bank/user_task_0/important_instructions/injection_task_0" in found.unreadable[0].reason
    )


def test_nothing_is_guessed_where_nothing_is_recorded(tmp_path: Path) -> None:
    bare = ["benchmark_version", "agentdojo_package_version", "error", "duration", "injections", "evaluation_timestamp"]
    put(tmp_path, record(messages=[*asked(system=None), says()], leave_out=bare))
    found = read(tmp_path, "benign")
    assert found.run["system"] == dict.fromkeys(
        ["model", "decoding", "tools_digest", "system_prompt_digest", "scaffold", "defenses", "limits"]
    )
    assert found.run["harness"] == {"name": "agentdojo", "version": None, "commit": None, "image": None}
    assert (found.run["started_at"], found.run["finished_at"], found.run["retries"]) == (
        None,
        None,
        {"max_attempts": None},
    )
    assert found.run["epochs"] == [{"epoch": 1, "seed": None}]
    assert found.run["episodes"] is None
    assert len(found.notes) == 3
    row = found.episodes.row(0, named=True)
    assert (row["served_model"], row["duration_ms"], row["delivered"]) == (None, None, None)


def test_the_tasks_content_is_proved_by_the_prompt_the_agent_was_given(tmp_path: Path) -> None:
    put(tmp_path / "same", record())
    put(tmp_path / "other", record(messages=[*asked("Another task."), says()]))
    expected = manifest()["tasks"][0]["digest"]
    assert one(tmp_path / "same", "benign")["task_digest"] == expected
    assert one(tmp_path / "other", "benign")["task_digest"] not in (expected, None)


def test_system_prompts_that_start_alike_are_told_apart_by_their_digests(tmp_path: Path) -> None:
    long = "You are an assistant. " * 20
    for number, end in enumerate("ab"):
        put(tmp_path, record(f"user_task_{number}", messages=[*asked(system=long + end), says()]))
    with pytest.raises(Malformed) as caught:
        read(tmp_path, "benign")
    for end in "ab":
        assert digest_of_bytes(f"{long}{end}".encode()) in str(caught.value)

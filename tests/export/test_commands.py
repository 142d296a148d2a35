"""`pairmark suite probe` and the exports, as commands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.ledgers.documents import read_suite
from pairmark.adapters.probe_files import merge_into
from pairmark.cli.suite_probe import ProbeFormat, _deliver
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.probe import ProbeDocument
from pairmark.domain.errors import Malformed
from pairmark.resources import data_folder
from tests.agentdojo.harness import needs_harness, shipped
from tests.cli.running import Here, is_one_line

EXAMPLE = data_folder("schemas") / "examples" / "probe" / "valid" / "every-key.json"
BANKING = ("--benchmark-version", "v1.2.2", "--suite", "banking")
NULL_AGENT = (*BANKING, "--probe", "null-agent")


def example() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    return value


@needs_harness
def test_a_probe_is_shown_written_and_merged_into_its_manifest(here: Here, tmp_path: Path) -> None:
    manifest = tmp_path / "suite.json"
    value = json.loads(shipped("banking", "v1.2.2").read_text(encoding="utf-8"))
    probes = value.pop("probes")
    manifest.write_text(json.dumps(value), encoding="utf-8")
    before = read_suite(manifest)
    done = here("suite", "probe", "agentdojo", *NULL_AGENT, "-o", tmp_path / "probe.json", "--into", manifest)
    assert (done.code, done.err) == (0, "")
    assert "passes 31.25 % (5/16)" in done.out
    assert "user_task_5, user_task_6, user_task_8, user_task_9, user_task_10" in done.out
    after = read_suite(manifest)
    assert after.digest == before.digest
    assert after.value == {**before.value, "probes": {"null_agent": probes["null_agent"]}}
    assert done.out.endswith(f"wrote {manifest}: the null agent's utility is 5/16\n")
    reach = here("suite", "probe", "agentdojo", *BANKING, "--probe", "canary", "--into", manifest)
    assert (reach.code, reach.err) == (0, "")
    assert reach.out.endswith(f"wrote {manifest}: the delivery ceiling is 144/144\n")
    assert read_suite(manifest).digest == before.digest
    assert read_suite(manifest).value == {**before.value, "probes": probes}
    document, _ = read_document(ProbeDocument, (tmp_path / "probe.json").read_bytes())
    assert document.suite.digest == before.digest
    again = here("suite", "probe", "agentdojo", *NULL_AGENT, "-o", tmp_path / "probe.json")
    assert again.code == 2
    assert is_one_line(again.err)
    assert again.err.endswith("[exists]\n")


@needs_harness
def test_json_is_the_document_alone(here: Here) -> None:
    done = here("suite", "probe", "agentdojo", *NULL_AGENT, "--probe", "reference", "--format", "json")
    assert done.code == 0
    document, _ = read_document(ProbeDocument, done.out.encode())
    assert document.null_agent is not None
    assert document.reference is not None
    assert (document.canary, document.dead_provider) == (None, None)


@needs_harness
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--benchmark-version", "v9"), "unknown-version"),
        (("--benchmark-version", "v1", "--suite", "office"), "unknown-suite"),
        (("--benchmark-version", "v1", "--suite", "all", "--suite", "slack"), "unknown-suite"),
        (("--benchmark-version", "v1", "--probe", "reference", "--into", "suite.json"), "usage"),
    ],
)
def test_what_cannot_be_probed_is_refused_in_one_line(here: Here, arguments: tuple[str, ...], code: str) -> None:
    done = here("suite", "probe", "agentdojo", *arguments)
    assert done.code == 2
    assert is_one_line(done.err)
    assert done.err.endswith(f"[{code}]\n")
    assert done.out == ""


def test_a_score_is_not_written_into_a_manifest_of_other_content(tmp_path: Path) -> None:
    document, _ = read_document(ProbeDocument, EXAMPLE.read_bytes())
    manifest = tmp_path / "suite.json"
    shutil.copyfile(shipped("slack", "v1.2.2"), manifest)
    before = manifest.read_bytes()
    with pytest.raises(Malformed) as refused:
        merge_into(document, manifest)
    assert refused.value.code == "other-suite"
    assert manifest.read_bytes() == before


def test_a_floor_that_is_known_in_part_is_not_written(tmp_path: Path) -> None:
    manifest = tmp_path / "suite.json"
    shutil.copyfile(shipped("slack", "v1.2.2"), manifest)
    value = example()
    value["suite"]["digest"] = read_suite(manifest).digest
    before = manifest.read_bytes()
    with pytest.raises(Malformed) as refused:
        merge_into(ProbeDocument.model_validate_json(json.dumps(value)), manifest)
    assert refused.value.code == "unknown-floor"
    assert "user_task_2" in str(refused.value)
    assert manifest.read_bytes() == before
    assert list(tmp_path.iterdir()) == [manifest]


def merged(value: dict[str, Any], manifest: Path) -> dict[str, Any]:
    """The probes of the manifest after a document, said to be of it, was written into it."""
    shutil.copyfile(shipped("slack", "v1.2.2"), manifest)
    value["suite"]["digest"] = read_suite(manifest).digest
    merge_into(ProbeDocument.model_validate_json(json.dumps(value)), manifest)
    probes: dict[str, Any] = read_suite(manifest).value["probes"]
    return probes


def known() -> dict[str, Any]:
    """The example without the task of which nothing is known."""
    value = example()
    for probe in ("null_agent", "canary"):
        value[probe]["tasks"] = value[probe]["tasks"][:2]
    return value


def test_a_reach_replaces_the_manifests_and_keeps_its_floor(tmp_path: Path) -> None:
    value = {**known(), "null_agent": None}
    found = merged(value, tmp_path / "suite.json")
    floor = json.loads(shipped("slack", "v1.2.2").read_text(encoding="utf-8"))["probes"]["null_agent"]
    shares = {key: value["canary"][key] for key in ("reachable_pairs", "reachable_tasks", "delivery_ceiling", "method")}
    assert found == {"null_agent": floor, "canary": shares}


def test_a_reach_that_is_unknown_or_undefined_is_not_written(tmp_path: Path) -> None:
    unknown, undefined = {**example(), "null_agent": None}, {**known(), "null_agent": None}
    undefined["canary"]["delivery_ceiling"] = None
    manifest = tmp_path / "suite.json"
    for value, found in ((unknown, "nothing of user_task_2"), (undefined, "no place or no cell")):
        with pytest.raises(Malformed, match=found) as refused:
            merged(value, manifest)
        assert refused.value.code == "unknown-reach"
        assert manifest.read_bytes() == shipped("slack", "v1.2.2").read_bytes()


def test_an_unknown_reach_keeps_a_known_floor_out_too(tmp_path: Path) -> None:
    """One file, whole or not at all."""
    value = known()
    value["canary"]["delivery_ceiling"] = None
    with pytest.raises(Malformed, match="unknown-reach"):
        merged(value, tmp_path / "suite.json")
    assert (tmp_path / "suite.json").read_bytes() == shipped("slack", "v1.2.2").read_bytes()


def test_a_document_without_floor_and_reach_has_nothing_to_record(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match="nothing-to-record"):
        merged({**example(), "null_agent": None, "canary": None}, tmp_path / "suite.json")


def test_every_part_of_a_document_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert _deliver(example(), None, None, ProbeFormat.TEXT) == 0
    told = capsys.readouterr().out
    for words in (
        "passes 50.00 % (1/2)", "passed: user_task_1", "unknown: user_task_2: not run: needs a sandbox", "solve 100.00 % (2/2)",
        "tasks that read none: user_task_1", "vectors that no solution reads: notice", "delivery ceiling: 50.00 % (3/6)",
        "100.00 % (2/2) of episodes are read as aborted", "the harness wrote 1 of them as utility false, security true; 1 ended its run",
    ):  # fmt: skip
        assert words in told, words


def test_an_episode_of_a_dead_provider_that_is_read_as_an_outcome_is_told_and_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    value = example()
    value["dead_provider"]["episodes"][0] |= {"status": "completed", "utility": False, "attack_success": True}
    value["dead_provider"]["aborted"] = "1/2"
    assert _deliver(value, None, None, ProbeFormat.TEXT) == 1
    assert (
        "not aborted: google ServerError 503, after-tools, user_task_0 × injection_task_0: completed"
        in capsys.readouterr().out
    )


def test_an_unknown_evaluation_is_refused(here: Here, tmp_path: Path) -> None:
    for command in (
        ("export", "inspect_evals", "gaia", "--suite", "x", "-o", tmp_path / "o"),
        ("probe", "inspect_evals", "gaia"),
    ):
        done = here("suite", *command)
        assert done.code == 2
        assert done.err.endswith("[unknown-evaluation]\n")

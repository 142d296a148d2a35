"""tau-bench: result files as they are, broken ones, and the manifest they show."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.adapters.observed.tau_bench import export_from_results
from pairmark.domain.canonical import canonical_bytes, digest_of, digest_of_bytes, suite_digest
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed
from pairmark.importers.base import Imported
from pairmark.importers.registry import importer_of
from pairmark.importers.tau_bench import items as items_module
from pairmark.importers.tau_bench.examples import MANIFEST, POLICY, failed, item
from tests.importers.reading_one import read_file

ITEMS = [item(0, 0, 1.0), item(1, 0, 0.0)]


def put(path: Path, value: Any) -> Path:
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return path


def read(path: Path, value: Any, **options: Any) -> Imported:
    return read_file("tau-bench", put(path, value), MANIFEST, "benign", **options)


def one(path: Path, value: Any) -> dict[str, Any]:
    return read(path, [value]).episodes.row(0, named=True)


def refusal(path: Path, value: Any, code: str, **options: Any) -> Malformed:
    with pytest.raises(Malformed) as caught:
        read(path, value, **options)
    assert caught.value.code == code
    assert caught.value.remedy
    return caught.value


def pass_hat(episodes: pl.DataFrame, k: int) -> Fraction:
    """Mean over tasks of the chance that k of its trials, drawn at random, all succeed."""
    counts = episodes.group_by("task_id").agg(pl.col("utility").sum().alias("c"), pl.len().alias("n")).select("c", "n").rows()
    return sum((Fraction(comb(c, k), comb(n, k)) for c, n in counts), Fraction()) / len(counts)


def test_the_published_figures(shared: Path) -> None:
    folder = shared / "samples" / "tau-bench-airline"
    path = folder / "gpt-4o-airline.json.gz"
    manifest = export_from_results([path], "tau-bench/airline")
    found = read_file("tau-bench", folder, manifest, "benign")
    assert found.episodes.height == 200
    assert found.unreadable == ()
    assert [item["epoch"] for item in found.run["epochs"]] == [1, 2, 3, 4]
    assert [f"{float(pass_hat(found.episodes, k)):.3f}" for k in (1, 2, 3, 4)] == ["0.420", "0.273", "0.220", "0.200"]
    digests = {task["id"]: task["digest"] for task in manifest["tasks"]}
    assert all(digests[row["task_id"]] == row["task_digest"] for row in found.episodes.iter_rows(named=True))
    assert (len(manifest["tasks"]), manifest["injections"]) == (50, [])
    assert found.run["system"]["system_prompt_digest"] is not None
    expected = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
    rewards = {(str(row["task_id"]), row["trial"] + 1): row["reward"] == 1 for row in expected}
    assert rewards == {(row["task_id"], row["epoch"]): row["utility"] for row in found.episodes.iter_rows(named=True)}


def test_a_reward_beside_an_exception_is_no_outcome(tmp_path: Path) -> None:
    row = one(tmp_path / "r.json", failed(0, 2, "RateLimitError: 429"))
    assert (row["status"], row["utility"], row["error"], row["epoch"]) == ("infra_error", None, "RateLimitError: 429", 3)


@pytest.mark.parametrize(
    ("text", "status"),
    [("litellm.ContextWindowExceededError: too long", "agent_limit"), ("This model's maximum context length is 128000", "agent_limit"),
     ("ContentPolicyViolationError", "provider_block"), ("flagged by the content filter", "provider_block"), ("KeyError: 'x'", "infra_error")],
)  # fmt: skip
def test_an_exception_that_is_the_agents_or_the_providers_end(tmp_path: Path, text: str, status: str) -> None:
    row = one(tmp_path / "r.json", failed(0, 0, text))
    assert row["status"] == status
    assert row["utility"] is (None if status == "infra_error" else False)


def test_an_ungraded_end_is_the_agents_limit(tmp_path: Path) -> None:
    row = one(tmp_path / "r.json", item(0, 0, 0.0, reward_info=None))
    assert (row["status"], row["utility"]) == ("agent_limit", False)


@pytest.mark.parametrize(("reward", "utility"), [(1.0, True), (1, True), (1 - 1e-9, True), (0.0, False), (0.5, False)])
def test_success_is_a_reward_of_one(tmp_path: Path, reward: float, utility: bool) -> None:
    assert one(tmp_path / "r.json", item(0, 0, reward))["utility"] is utility


def test_the_same_conversation_has_the_same_digest_whatever_its_call_ids(tmp_path: Path) -> None:
    other = json.loads(json.dumps(ITEMS[0]).replace("random", "other"))
    said = json.loads(json.dumps(ITEMS[0]).replace("done", "gone"))
    digests = [one(tmp_path / "r.json", value)["transcript_digest"] for value in (ITEMS[0], other, said)]
    assert digests[0] == digests[1] != digests[2]


def test_the_policy_is_the_system_prompt_and_there_is_one(tmp_path: Path) -> None:
    found = read(tmp_path / "r.json", ITEMS)
    assert found.run["system"]["system_prompt_digest"] == digest_of_bytes(POLICY["content"].encode())
    other = {**ITEMS[1], "traj": [{"role": "system", "content": "Another."}]}
    assert "item 2" in refusal(tmp_path / "r.json", [ITEMS[0], other], "mixed-system-prompts").message
    assert read(tmp_path / "r.json", [failed(0, 0, "503")]).run["system"]["system_prompt_digest"] is None


def test_it_is_a_benign_arm(tmp_path: Path) -> None:
    put(tmp_path / "r.json", ITEMS)
    for arm, attack, code in (("attacked", None, "no-attack"), ("benign", "x", "usage")):
        with pytest.raises(Malformed) as caught:
            read_file("tau-bench", tmp_path / "r.json", MANIFEST, arm, attack=attack)
        assert caught.value.code == code


def test_a_single_trial_can_be_numbered(tmp_path: Path) -> None:
    found = read(tmp_path / "r.json", ITEMS, epoch=5)
    assert found.episodes["epoch"].to_list() == [5, 5]
    refusal(tmp_path / "r.json", [*ITEMS, item(0, 1, 1.0)], "usage", epoch=5)


def changed(**keys: Any) -> dict[str, Any]:
    return {**ITEMS[0], **keys}


@pytest.mark.parametrize(
    ("value", "reason", "named"),
    [(changed(reward=2), "`reward`", True), (changed(reward="1"), "`reward`", True), (changed(reward=True), "`reward`", True),
     (changed(reward=None), "`reward`", True), (changed(info=None), "`info`", True), (changed(traj=None), "`traj`", True),
     (changed(traj=[1]), "message 0", True), (changed(traj=[{"role": "assistant", "tool_calls": [{}]}]), "message 0", True),
     (changed(trial=-1), "`trial`", False), (changed(trial="0"), "`trial`", False), (changed(task_id=1.5), "`task_id`", False),
     (changed(task_id="a\nb"), "`task_id`", False), (7, "an object", False)],
)  # fmt: skip
def test_an_item_that_is_no_episode_is_listed_and_its_cell_aborted(tmp_path: Path, value: Any, reason: str, named: bool) -> None:
    found = read(tmp_path / "r.json", [ITEMS[1], value])
    results = str(tmp_path / "r.json")
    assert [(item.path, item.file, reason in item.reason) for item in found.unreadable] == [(f"{results}:2", results, True)]
    assert found.episodes.height == 1 + named
    assert found.episodes["status"].to_list()[: int(named)] == ["cancelled"] * named


def test_an_item_with_a_key_twice_or_too_deep_is_listed(tmp_path: Path) -> None:
    text = json.dumps(ITEMS).replace('"reward": 0.0,', '"reward": 0.0, "reward": 1.0,', 1)
    assert "each key once" in read(tmp_path / "r.json", text.encode()).unreadable[0].reason
    deep = json.dumps([changed(more="@"), ITEMS[1]]).replace('"@"', "[" * 100 + "]" * 100)
    assert "nesting" in read(tmp_path / "r.json", deep.encode()).unreadable[0].reason


def test_repeated_cells_stay_for_the_rules_to_judge(tmp_path: Path) -> None:
    assert read(tmp_path / "r.json", [ITEMS[0], ITEMS[0]]).episodes.height == 2


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"", "not-json"), (b"[]", "no-episodes"), (b"{}", "not-json"), (json.dumps(ITEMS).encode()[:-1], "not-json"),
     (json.dumps(ITEMS).encode() + b"x", "not-json"), (b"[" * 100_000, "not-json"), (b"[\xff]", "not-json"), (b"\x1f\x8b\x08", "bad-gzip"),
     (gzip.compress(json.dumps(ITEMS).encode())[:-4], "bad-gzip"), (gzip.compress(b"[]") + b"more", "bad-gzip")],
)  # fmt: skip
def test_what_is_no_result_file_is_refused(tmp_path: Path, data: bytes, code: str) -> None:
    refusal(tmp_path / "r.json", data, code)


def test_a_file_beyond_the_limit_is_refused_packed_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "r.json").open("wb") as file:
        file.write(b"[")
        file.truncate(2**30)  # a line of a gigabyte, of which the disk holds nothing
    with pytest.raises(Malformed, match="too-large"):
        read_file("tau-bench", tmp_path / "r.json", MANIFEST, "benign")
    monkeypatch.setattr(items_module, "MAX_FILE_BYTES", 2**20)
    refusal(tmp_path / "bomb.json", gzip.compress(b"[" + b" " * 2**23), "too-large")
    monkeypatch.setattr(items_module, "MAX_ITEM_BYTES", 1500)
    found = read(tmp_path / "r.json", [ITEMS[0], failed(1, 0, "x" * 2000)])
    assert ["at most 1500 bytes" in item.reason for item in found.unreadable] == [True]


def test_recognising_never_raises_and_asks_for_the_harness_own_shape(tmp_path: Path) -> None:
    reader = importer_of("tau-bench")
    put(tmp_path / "r.json.gz", gzip.compress(json.dumps(ITEMS, indent=2).encode()))
    assert reader.recognises([tmp_path / "r.json.gz"])
    assert reader.recognises([tmp_path])
    for data in (b"", b"[]", b"{}", b"[{}]", b'[{"task_id": 0}]', b"\x1f\x8b\x00", b"\xff"):
        assert not reader.recognises([put(tmp_path / "other.json", data)])
    assert not reader.recognises([])
    assert not reader.recognises([tmp_path / "nowhere"])


def test_a_manifest_covers_instructions_checks_and_the_policy(tmp_path: Path) -> None:
    found = export_from_results([put(tmp_path / "r.json", [*ITEMS, failed(9, 0, "503")])], "mine")
    SuiteManifest.model_validate_json(canonical_bytes(found))
    assert [task["id"] for task in found["tasks"]] == ["0", "1", "9"]
    assert found["tasks"][0]["digest"] == digest_of({"instruction": ITEMS[0]["info"]["task"]["instruction"]})
    assert found["tasks"][0]["checker"] == found["tasks"][1]["checker"] != found["tasks"][2]["checker"]
    assert [tool["name"] for tool in found["tools"]] == ["cancel"]
    again = export_from_results([put(tmp_path / "s.json", [item(0, 3, 0.0), item(1, 0, 1.0), failed(9, 1, "x")])], "mine")
    assert suite_digest(again) == suite_digest(found)
    about = {**ITEMS[0]["info"]["task"], "outputs": ["7"]}
    with pytest.raises(Malformed) as caught:
        export_from_results([tmp_path / "r.json", put(tmp_path / "t.json", [item(0, 0, 1.0, task=about)])], "mine")
    assert caught.value.code == "two-contents"


@given(st.data())
def test_no_mutation_of_a_file_does_more_than_refuse_or_list(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated.json"
    text = bytearray(json.dumps(ITEMS).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        parts = [b"", b'"', b"{", b"]", b",", b"null", b"1e400", b"\\ud800", b"\xff", b"-", b"9" * 30]
        text[at : at + data.draw(st.integers(0, 12))] = data.draw(st.sampled_from(parts))
    try:
        found = read(path, bytes(text))
    except Malformed:
        return
    assert found.episodes["status"].is_in(["completed", "agent_limit", "infra_error", "cancelled", "provider_block"]).all()
    assert found.episodes.equals(read(path, bytes(text)).episodes)

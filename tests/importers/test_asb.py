"""Agent Security Bench: tables as they are, tables that are broken, and the manifest they show."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.adapters.observed.asb import export_from_tables
from pairmark.domain.canonical import canonical_bytes, suite_digest
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed
from pairmark.importers.asb import table
from pairmark.importers.asb.examples import EXAMPLES, HEADER, MANIFEST
from pairmark.importers.base import Imported
from tests.importers.reading_one import read_file

(CLEAN,), (ATTACKED,) = (example.files.values() for example in EXAMPLES)


def read(path: Path, arm: str = "attacked", text: str | bytes | None = None, **options: Any) -> Imported:
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    if arm == "attacked":
        options.setdefault("attack", "opi")
    return read_file("asb", path, MANIFEST, arm, **options)


def refusal(path: Path, text: str | bytes, code: str, arm: str = "attacked", **options: Any) -> Malformed:
    with pytest.raises(Malformed) as caught:
        read(path, arm, text, **options)
    assert caught.value.code == code
    assert caught.value.remedy
    return caught.value


def test_the_published_figures(shared: Path) -> None:
    folder = shared / "samples" / "asb-drift"
    clean, attacked = folder / "gpt-4o_clean.csv", folder / "gpt-4o_opi.csv"
    manifest = export_from_tables([clean, attacked], "asb")
    benign = read_file("asb", clean, manifest, "benign").episodes
    under = read_file("asb", attacked, manifest, "attacked", attack="opi")
    assert (benign.height, benign["utility"].sum()) == (400, 315)
    assert (under.episodes.height, under.episodes["utility"].sum(), under.episodes["attack_success"].sum()) == (400, 279, 34)
    assert under.unreadable == ()
    assert "10 agents" in under.notes[0]
    # the pairs on (agent, tool): the epoch of a clean row is the place of its attack tool in the manifest
    place: dict[str, int] = {}
    for task in manifest["tasks"]:
        mine = [item["id"] for item in manifest["injections"] if item["group"] == task["group"]]
        place |= {item: number for number, item in enumerate(mine, 1)}
    done = {(row["task_id"], row["epoch"]): row["utility"] for row in benign.iter_rows(named=True)}
    pairs = [(done[row["task_id"], place[row["injection_id"]]], row["utility"]) for row in under.episodes.iter_rows(named=True)]
    assert [pairs.count(kind) for kind in ((True, True), (True, False), (False, True))] == [275, 40, 4]


def test_the_episodes_are_what_an_independent_reader_counts(shared: Path) -> None:
    path = shared / "samples" / "asb-drift" / "gpt-4o-mini_opi.csv"
    with path.open(encoding="utf-8") as file:
        expected = {(row["Agent Name"], row["Attack Tool"]): row for row in csv.DictReader(file)}
    found = read_file("asb", path, export_from_tables([path], "asb"), "attacked", attack="opi").episodes
    assert found.height == len(expected) == 400
    for row in found.iter_rows(named=True):
        wanted = expected[row["task_id"], row["injection_id"].removeprefix(row["task_id"] + "/")]
        assert (row["utility"], row["attack_success"]) == (
            wanted["Original Task Successful"] == "1", wanted["Attack Successful"] == "1",
        )  # fmt: skip
    assert found.select("delivered", "attacker_actions", "duration_ms", "served_model").null_count().row(0) == (400,) * 4


def test_manifests_of_other_models_are_the_same_suite(shared: Path, tmp_path: Path) -> None:
    folder = shared / "samples" / "asb-drift"
    manifests = [export_from_tables([folder / f"{name}.csv"], "asb") for name in ("gpt-4o_clean", "gpt-4o_opi", "gpt-4o-mini_opi")]
    assert len({suite_digest(manifest) for manifest in manifests}) == 1
    assert (len(manifests[0]["tasks"]), len(manifests[0]["injections"])) == (10, 400)
    assert {tag for item in manifests[0]["injections"] for tag in item["tags"]} == {"aggressive", "not-aggressive"}


def test_a_manifest_lists_agents_and_their_own_tools(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(ATTACKED.encode())
    found = export_from_tables([tmp_path], "mine")
    SuiteManifest.model_validate_json(canonical_bytes(found))
    assert [task["id"] for task in found["tasks"]] == ["example/clerk", "example/nurse"]
    assert [item["id"] for item in found["injections"]] == [
        "example/clerk/Leak", "example/clerk/Wipe", "example/nurse/Leak", "example/nurse/Stall",
    ]  # fmt: skip
    assert (found["grid"], found["weighting"], found["injections"][0]["group"]) == ("full", "task", "example/clerk")


def test_tables_that_disagree_on_a_tag_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(ATTACKED.encode())
    (tmp_path / "b.csv").write_bytes(ATTACKED.replace("clerk,Leak,1,0,0,N/A,1", "clerk,Leak,1,0,0,N/A,0").encode())
    with pytest.raises(Malformed) as caught:
        export_from_tables([tmp_path / "a.csv", tmp_path / "b.csv"], "mine")
    assert caught.value.code == "two-contents"
    with pytest.raises(Malformed) as caught:
        export_from_tables([_written(tmp_path / "c" / "x.csv", HEADER)], "mine")
    assert caught.value.code == "no-records"


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode())
    return path


def test_an_attack_is_named_in_the_attacked_arm_only(tmp_path: Path) -> None:
    assert read(tmp_path / "t.csv", text=ATTACKED).run["attack"] == {"name": "opi", "digest": None}
    refusal(tmp_path / "t.csv", ATTACKED, "usage", attack=None)
    refusal(tmp_path / "t.csv", CLEAN, "usage", arm="benign", attack="opi")


def test_a_table_that_shows_attacks_is_no_benign_arm(tmp_path: Path) -> None:
    problem = refusal(tmp_path / "t.csv", ATTACKED, "not-benign", arm="benign")
    assert problem.line == 2
    assert "2 of 4 rows" in problem.message
    assert "attacked arm" in str(problem.remedy)


def test_an_attacked_arm_in_which_no_attack_succeeded_is_noted(tmp_path: Path) -> None:
    assert any("a clean table looks like" in note for note in read(tmp_path / "t.csv", text=CLEAN).notes)
    assert not any("a clean table looks like" in note for note in read(tmp_path / "u.csv", text=ATTACKED).notes)


def test_a_clean_table_says_how_its_flips_are_paired(tmp_path: Path) -> None:
    notes = read(tmp_path / "t.csv", "benign", CLEAN).notes
    assert any("flips in `tally`" in note and "aggregate import asb" in note for note in notes)


def test_an_epoch_number_is_for_the_attacked_arm(tmp_path: Path) -> None:
    assert read(tmp_path / "t.csv", text=ATTACKED, epoch=3).run["epochs"] == [{"epoch": 3, "seed": None}]
    refusal(tmp_path / "t.csv", CLEAN, "usage", arm="benign", epoch=2)


def test_a_clean_row_of_a_tool_that_the_manifest_does_not_list_has_no_number(tmp_path: Path) -> None:
    problem = refusal(tmp_path / "t.csv", CLEAN.replace("clerk,Wipe", "clerk,Other"), "unknown-tool", arm="benign")
    assert problem.line == 4


@pytest.mark.parametrize(
    ("row", "reason", "named"),
    [("example/clerk,Leak,2,0,0,N/A,1,[]", "to be 0 or 1, found '2'", True), ("example/clerk,Leak,,0,0,N/A,1,[]", "to be 0 or 1", True),
     ("example/clerk,Leak,1,yes,0,N/A,1,[]", "`Original Task Successful`", True), ("example/clerk,Leak,1,0", "found 4", True),
     ("example/clerk,Leak,1,0,0,N/A,1,[],more", "found 9", True), ("example/clerk", "found 1", False),
     (",Leak,1,0,0,N/A,1,[]", "names of an agent", False), (f"{'a' * 401},Leak,1,0,0,N/A,1,[]", "names of an agent", False),
     ("example/clerk,\"Le\nak\",1,0,0,N/A,1,[]", "names of an agent", False)],
)  # fmt: skip
def test_a_row_that_is_no_episode_is_listed_and_its_cell_aborted(tmp_path: Path, row: str, reason: str, named: bool) -> None:
    path = tmp_path / "t.csv"
    found = read(path, text=f"{HEADER}{row}\r\nexample/nurse,Leak,0,1,0,N/A,1,[]\r\n")
    assert [(item.path, item.file) for item in found.unreadable] == [(f"{path}:2", str(path))]
    assert reason in found.unreadable[0].reason
    assert found.episodes.height == 1 + named
    assert found.episodes.filter(pl.col("status") == "completed").height + len(found.unreadable) == 2
    if named:
        lost = found.episodes.row(0, named=True)
        assert (lost["injection_id"], lost["status"], lost["utility"], lost["attack_success"]) == (
            "example/clerk/Leak", "cancelled", None, None,
        )  # fmt: skip
        assert str(tmp_path) not in lost["error"]


def test_repeated_rows_stay_for_the_rules_to_judge_and_are_noted(tmp_path: Path) -> None:
    found = read(tmp_path / "t.csv", text=ATTACKED + ATTACKED[len(HEADER) :])
    assert found.episodes.height == 8
    assert any("4 rows repeat" in note for note in found.notes)


@pytest.mark.parametrize(
    ("text", "code"),
    [("", "columns"), (HEADER, "no-episodes"), ("a,b\r\n1,2\r\n", "columns"), (HEADER.replace("messages", "Aggressive"), "columns"),
     (HEADER + 'example/clerk,"Leak,1,0', "not-csv"), (HEADER + 'example/clerk,"Le"ak,1,0,0,N/A,1,[]\r\n', "not-csv"),
     (HEADER.encode() + b"\xff\r\n", "not-utf8"), (b"\x1f\x8b\x08\x00rest", "bad-gzip"), (b"PK\x03\x04", "columns")],
)  # fmt: skip
def test_what_is_no_table_is_refused(tmp_path: Path, text: str | bytes, code: str) -> None:
    refusal(tmp_path / "t.csv", text, code)


def test_a_table_beyond_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with path.open("wb") as file:
        file.write(HEADER.encode())
        file.truncate(2**30)  # a line of a gigabyte, of which the disk holds nothing
    with pytest.raises(Malformed, match=str(table.MAX_FILE_BYTES)):
        read(path)


def test_a_table_of_too_many_rows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MAX_ROWS", 3)
    assert refusal(tmp_path / "t.csv", ATTACKED, "too-large").line == 5


def test_a_field_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MAX_FIELD_CHARACTERS", 10)
    csv.field_size_limit(1000)
    refusal(tmp_path / "t.csv", HEADER + "a" * 2000, "not-csv")
    csv.field_size_limit(131072)


def test_a_conversation_longer_than_the_librarys_limit_is_read(tmp_path: Path) -> None:
    assert read(tmp_path / "t.csv", text=ATTACKED.replace("[]", "x" * 200_000)).episodes.height == 4


def test_a_folder_holds_one_table(tmp_path: Path) -> None:
    _written(tmp_path / "f" / "t.csv", ATTACKED)
    _written(tmp_path / "f" / "notes.txt", "x")
    assert read(tmp_path / "f").set_aside == {"other files in the folder": 1}
    _written(tmp_path / "f" / "u.csv", ATTACKED)
    with pytest.raises(Malformed) as caught:
        read(tmp_path / "f")
    assert caught.value.code == "several-files"
    (tmp_path / "empty").mkdir()
    with pytest.raises(Malformed) as caught:
        read(tmp_path / "empty")
    assert caught.value.code == "no-records"


@given(st.data())
def test_no_mutation_of_a_table_does_more_than_refuse_or_list(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated.csv"
    text = bytearray(ATTACKED.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 20))] = data.draw(st.sampled_from([b"", b'"', b",", b"\n", b"\0", b"\xff", b"1", b"2"]))
    path.write_bytes(bytes(text))
    try:
        found = read(path)
    except Malformed:
        return
    assert found.episodes.filter(pl.col("status") == "completed")["utility"].null_count() == 0
    assert found.episodes.equals(read(path).episodes)

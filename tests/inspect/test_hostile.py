"""Damaged, oversized and hostile logs: one clear error within the limits, or one unreadable sample among the others."""

from __future__ import annotations

import contextlib
import io
import json
import resource
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pairmark.cli.main import main
from pairmark.domain.errors import Malformed
from pairmark.importers.inspect import archive, collect, json_log, log_file
from pairmark.importers.inspect.examples import ASKED, DONE, EXAMPLES, MANIFEST, call_of, log_text, sample_of, scores_of
from pairmark.importers.inspect.limits import LIMITS, LogLimits
from tests.inspect.conftest import Suite

MIB = 2**20
SMALL = LogLimits(sample=MIB, header=MIB, log=8 * MIB, members=1000, batch=MIB)
HEADER = json.dumps({key: value for key, value in json.loads(log_text([], ["banking-u0"])).items() if key != "samples"})
BENIGN = sample_of(None, [call_of(ASKED, DONE)], scores=scores_of("C"))
SUITE = Suite(MANIFEST)


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a test can exceed in a moment."""
    for module in (archive.measure, json_log.lay_out, log_file.open_log):
        monkeypatch.setattr(module, "__defaults__", (SMALL,))
    monkeypatch.setattr(collect, "LIMITS", SMALL)


def packed(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def log_members(*samples: dict[str, Any]) -> dict[str, bytes]:
    """The members of an archive as Inspect writes it."""
    summaries = [{"id": one["id"], "epoch": one["epoch"], "input": "", "target": ""} for one in samples]
    return {
        "header.json": HEADER.encode(),
        "summaries.json": json.dumps(summaries).encode(),
        **{f"samples/{one['id']}_epoch_{one['epoch']}.json": json.dumps(one).encode() for one in samples},
    }


def refusal(path: Path) -> Malformed:
    with pytest.raises(Malformed) as raised:
        SUITE.read([path], "benign")
    text = str(raised.value)
    assert str(path) in text
    assert "\n" not in text
    assert "Traceback" not in text
    return raised.value


def test_the_small_archive_that_is_damaged_below_is_a_good_one(tmp_path: Path) -> None:
    found = SUITE.read([packed(tmp_path / "a.eval", log_members(BENIGN))], "benign")
    assert found.episodes["utility"].to_list() == [True]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("empty.eval", b"", "bad-archive"),
        ("text.eval", b"This is no archive.", "bad-archive"),
        ("empty.json", b"", "truncated"),
        ("array.json", b"[1, 2, 3]", "not-json"),
        ("half.json", log_text([BENIGN], ["banking-u0"]).encode()[:-200], "truncated"),
        ("brackets.json", b'{"version": 2, "samples": [}]}', "not-json"),
        ("twice.json", b'{"version": 2, "samples": [], "samples": []}', "not-json"),
        ("two.json", b'{"version": 2}{"version": 2}', "not-json"),
        ("deep.json", b'{"a":' + b"[" * 5000, "not-json"),
        ("other.json", b'{"schema": "pairmark/run/v1"}', "not-a-log"),
        ("agentdojo.json", b'{"suite_name": "banking", "messages": []}', "not-a-log"),
        ("bytes.json", b'{"version": 2, "status": "\xff\xfe"}', "not-a-log"),
    ],
)
def test_a_file_that_is_no_whole_log_is_refused_by_name(tmp_path: Path, name: str, content: bytes, code: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert refusal(path).code == code


def test_a_sample_under_the_name_of_another_is_unreadable_with_both_named(tmp_path: Path) -> None:
    members = log_members(BENIGN)
    name = next(name for name in members if name.startswith("samples/"))
    members[name] = json.dumps({**BENIGN, "epoch": 2}).encode()
    found = SUITE.read([packed(tmp_path / "a.eval", members)], "benign")
    assert found.episodes.select("epoch", "status", "utility").rows() == [(1, "cancelled", None)]
    assert "epoch 2" in found.unreadable[0].reason


def test_a_key_twice_in_a_json_log_is_refused_wherever_it_stands(tmp_path: Path) -> None:
    whole = log_text([BENIGN], ["banking-u0"])
    path = tmp_path / "a.json"
    text = json.dumps({**BENIGN, "epoch": 1})
    path.write_text(whole.replace(json.dumps(BENIGN), text.replace('"epoch": 1', '"epoch": 1, "epoch": 2')), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != whole
    found = collect_all(path)
    assert [(one.place, one.problem) for one in found] == [
        (f"{path}#/samples/0", "expected each key once, found 'epoch' again [duplicate-key]")
    ]
    path.write_text(whole.replace('"status":', '"status": "error", "status":', 1), encoding="utf-8")
    assert refusal(path).code == "duplicate-key"


TWICE = {
    "in a whole sample": json.dumps({**BENIGN, "epoch": 2}).replace('"epoch": 2', '"epoch": 3, "epoch": 2').encode(),
    "once escaped": b'{"epoch": 1, "\\u0065poch": 2}',
    "spaced": b'{"epoch"\n : 1, "epoch" :2}',
    "deep inside": b'{"x": [[{"y": {"epoch": 1, "z": NaN, "epoch": null}}]], "s": "a\\": 1"}',
    "with half a character": b'{"s": "\\ud800", "epoch": 1, "epoch": 2}',
    "with a long number": b'{"s": 1' + b"0" * 5000 + b', "epoch": 1, "epoch": 2}',
    "in another encoding": '{"epoch": 1, "epoch": 2}'.encode("utf-16"),
    "behind a mark": '\ufeff{"epoch": 1, "epoch": 2}'.encode(),
    "among very many": b'{"epoch": 1, ' + b"".join(b'"%d": 0, ' % n for n in range(50_000)) + b'"epoch": 2}',
}


@pytest.mark.parametrize("name", TWICE)
def test_a_key_twice_in_a_sample_of_an_archive_makes_it_unreadable_with_member_and_key_named(tmp_path: Path, name: str) -> None:
    member = "samples/banking-u0_epoch_2.json"
    path = packed(tmp_path / "a.eval", {**log_members(BENIGN, {**BENIGN, "epoch": 2}), member: TWICE[name]})
    found = SUITE.read([path], "benign")
    assert found.episodes.select("epoch", "status", "utility").rows() == [(1, "completed", True), (2, "cancelled", None)]
    assert [(one.path, one.reason) for one in found.unreadable] == [
        (f"{path}#{member}", "expected each key once, found 'epoch' again [duplicate-key]")
    ]


@pytest.mark.parametrize("member", ["header.json", "summaries.json"])
def test_a_key_twice_beside_the_samples_of_an_archive_refuses_it(tmp_path: Path, member: str) -> None:
    members = log_members(BENIGN)
    written = members[member]
    members[member] = written.replace(b"{", b'{"target": "", "target": "", ', 1)
    refused = refusal(packed(tmp_path / "a.eval", members))
    assert refused.code == "duplicate-key"
    assert "'target' again" in refused.message
    assert member in refused.message
    members[member] = written.replace(b"{", b'{"other": ' + b"[" * 5000 + b"]" * 5000 + b", ", 1)
    assert refusal(packed(tmp_path / "deep.eval", members)).code == "too-deep"


def test_what_looks_like_a_key_within_a_text_is_none(tmp_path: Path) -> None:
    told = {**BENIGN, "target": '{"epoch": 1, "epoch": 2} \\": ":epoch":'}
    found = SUITE.read([packed(tmp_path / "a.eval", log_members(told))], "benign")
    assert found.episodes["utility"].to_list() == [True]
    assert found.unreadable == ()


def collect_all(path: Path) -> list[Any]:
    return list(log_file.open_log(path, SMALL).samples())


def test_an_archive_cut_at_any_place_is_refused(tmp_path: Path) -> None:
    whole = packed(tmp_path / "whole.eval", log_members(BENIGN)).read_bytes()
    for size in range(0, len(whole), max(1, len(whole) // 40)):
        path = tmp_path / "cut.eval"
        path.write_bytes(whole[:size])
        assert refusal(path).code == "bad-archive"


def test_a_flipped_byte_is_found_by_its_checksum_or_is_told(tmp_path: Path) -> None:
    whole = packed(tmp_path / "whole.eval", log_members(BENIGN)).read_bytes()
    for place in range(40, len(whole), max(1, len(whole) // 60)):
        path = tmp_path / "flipped.eval"
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with contextlib.suppress(Malformed):
            found = SUITE.read([path], "benign")
            assert found.episodes.height + len(found.unreadable) >= 1


@pytest.mark.parametrize("name", ["../up.json", "/etc/passwd", "samples/../../up.json", "C:\\up.json", "samples\\..\\..\\up.json", "a\x01b"])
def test_a_member_that_leads_outside_the_archive_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    path = packed(inner / "out.eval", {**log_members(BENIGN), "XXXX": b"{}"})
    raw = path.read_bytes()
    renamed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(renamed, "w") as new:
        for member in old.infolist():
            info = zipfile.ZipInfo("x")
            info.filename = name if member.filename == "XXXX" else member.filename
            new.writestr(info, old.read(member))
    path.write_bytes(renamed.getvalue())
    assert refusal(path).code == "bad-archive"
    assert [child.name for child in tmp_path.iterdir()] == ["inner"]
    assert [child.name for child in inner.iterdir()] == ["out.eval"]


def test_a_bomb_in_the_header_is_refused_before_it_is_expanded(tmp_path: Path) -> None:
    path = packed(tmp_path / "bomb.eval", {**log_members(BENIGN), "header.json": b" " * (64 * MIB) + HEADER.encode()})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert refusal(path).code == "too-large"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 48 * 1024  # KiB


def test_a_bomb_in_a_sample_is_that_sample_s_problem(tmp_path: Path) -> None:
    bomb = {**BENIGN, "epoch": 2, "target": "x" * (4 * MIB)}
    found = SUITE.read([packed(tmp_path / "bomb.eval", log_members(BENIGN, bomb))], "benign")
    assert found.episodes.select("epoch", "status", "utility").rows() == [(1, "completed", True), (2, "cancelled", None)]
    assert [file.reason for file in found.unreadable] == [f"expected at most {MIB} bytes, found more"]


def test_a_member_that_understates_its_size_is_measured_all_the_same(tmp_path: Path) -> None:
    path = packed(tmp_path / "liar.eval", {**log_members(BENIGN), "header.json": b" " * (2 * MIB) + HEADER.encode()})
    raw = bytearray(path.read_bytes())
    place = raw.find(b"PK\x01\x02")
    struct.pack_into("<I", raw, place + 24, 100)  # the expanded size in the directory
    path.write_bytes(raw)
    assert refusal(path).code in ("too-large", "bad-archive")


def test_too_many_members_are_refused(tmp_path: Path) -> None:
    members = {f"samples/s{n}_epoch_1.json": b"{}" for n in range(SMALL.members + 1)}
    assert refusal(packed(tmp_path / "many.eval", {**log_members(), **members})).code == "too-large"


def test_an_archive_of_another_kind_is_not_a_log(tmp_path: Path) -> None:
    assert refusal(packed(tmp_path / "other.eval", {"a.txt": b""})).code == "not-a-log"


def test_an_archive_behind_other_bytes_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path / "behind.eval", log_members(BENIGN))
    path.write_bytes(b"x" * 100 + path.read_bytes())
    assert refusal(path).code == "bad-archive"


def test_one_giant_line_is_read_in_slices(tmp_path: Path) -> None:
    big = {**BENIGN, "epoch": 2, "target": "x" * (3 * MIB)}
    text = log_text([BENIGN, big], ["banking-u0"], epochs=2)
    assert "\n" not in text
    path = tmp_path / "line.json"
    path.write_text(text)
    found = SUITE.read([path], "benign")
    assert [file.path.rpartition("#")[2] for file in found.unreadable] == ["/samples/1"]
    assert found.episodes["status"].to_list() == ["completed", "cancelled"]


def test_a_json_log_that_is_all_header_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "header.json"
    path.write_text('{"version": 2, "status": "success", "x": "' + "y" * (2 * MIB) + '"}')
    assert refusal(path).code == "too-large"


def test_more_planned_samples_than_there_can_be_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "planned.json"
    path.write_text(log_text([BENIGN], ["banking-u0"], epochs=10**9))
    assert refusal(path).code == "too-large"


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.update(epoch="one"),
        lambda one: one.update(epoch=0),
        lambda one: one.update(events=[{"event": "model"}]),
        lambda one: one.update(messages=7),
        lambda one: one.update(metadata=[]),
        lambda one: one.update(metadata={"task_suite_name": "banking"}, id="x"),
        lambda one: one.update(scores={"user_task_scorer": 3}),
    ],
)
def test_a_broken_sample_is_listed_and_the_others_are_read(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    broken = {**BENIGN, "epoch": 2}
    change(broken)
    path = tmp_path / "log.json"
    path.write_text(log_text([BENIGN, broken], ["banking-u0"], epochs=2))
    found = SUITE.read([path], "benign")
    assert len(found.unreadable) == 1
    assert found.episodes.filter(found.episodes["epoch"] == 1)["utility"].to_list() == [True]
    assert found.episodes.filter(found.episodes["epoch"] == 2)["status"].to_list() == ["cancelled"]


def test_a_sample_that_the_archive_holds_but_does_not_list_is_told(tmp_path: Path) -> None:
    members = log_members(BENIGN)
    members["samples/banking-u0_epoch_2.json"] = json.dumps({**BENIGN, "epoch": 2}).encode()
    found = SUITE.read([packed(tmp_path / "hidden.eval", members)], "benign")
    assert found.episodes.height == 1
    assert ["does not name it" in file.reason for file in found.unreadable] == [True]


def test_a_listed_sample_that_the_archive_lacks_is_an_aborted_cell(tmp_path: Path) -> None:
    members = log_members(BENIGN, {**BENIGN, "epoch": 2})
    del members["samples/banking-u0_epoch_2.json"]
    found = SUITE.read([packed(tmp_path / "lacking.eval", members)], "benign")
    assert found.episodes["status"].to_list() == ["completed", "cancelled"]
    assert len(found.unreadable) == 1


def test_a_yaml_bomb_in_tool_output_is_only_text(tmp_path: Path) -> None:
    bomb = "a: &a [x, x]\n" + "\n".join(f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]" for n in range(20))
    messages = [*ASKED, {"role": "tool", "content": bomb + "\\" * 5000, "tool_call_id": "c0", "function": "read_file"}]
    path = tmp_path / "bomb.json"
    path.write_text(log_text([sample_of(0, [call_of(messages, DONE)], scores=scores_of("C", "I"))], ["banking-u0-i0"]))
    found = SUITE.read([path], "attacked")
    assert found.episodes["delivered"].to_list() == [False]


def test_no_control_character_of_a_log_reaches_the_ledger_s_ids_or_an_error_s_line(tmp_path: Path) -> None:
    evil = {**BENIGN, "metadata": {**BENIGN["metadata"], "task_id": "0\n\x1b[31m"}, "id": "x\n\x1b[31m"}
    path = tmp_path / "evil.json"
    path.write_text(log_text([BENIGN, evil], ["banking-u0"]))
    found = SUITE.read([path], "benign")
    assert found.episodes["task_id"].to_list() == ["user_task_0"]
    assert all(file.reason.isprintable() for file in found.unreadable)


def test_nothing_is_written_when_a_log_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite, log = tmp_path / "suite.json", tmp_path / "log.json"
    suite.write_text(json.dumps(MANIFEST))
    log.write_text(EXAMPLES[0].files["log.json"][:-100])
    out = tmp_path / "bundle"
    assert main(["import", "inspect", str(log), "--suite", str(suite), "--arm", "attacked", "-o", str(out)]) == 2
    assert "[truncated]" in capsys.readouterr().err
    assert not out.exists()


def test_without_the_package_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pairmark.importers.inspect import package

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(package, "import_module", missing)
    path = packed(tmp_path / "a.eval", log_members(BENIGN))
    with pytest.raises(Malformed, match=r"pip install 'pairmark\[inspect\]'"):
        SUITE.read([path], "benign")
    monkeypatch.undo()
    monkeypatch.setattr(package, "version", lambda name: "0.3.150")
    with pytest.raises(Malformed, match=r"0\.3\.200 or newer, found 0\.3\.150"):
        SUITE.read([path], "benign")


def test_the_limits_that_are_shipped_bound_memory() -> None:
    assert LIMITS.sample <= 64 * MIB
    assert LIMITS.batch <= LIMITS.sample
    assert replace(LIMITS, sample=1).header == LIMITS.header

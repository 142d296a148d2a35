"""A file that is no record is listed, its cell is aborted, and nothing else happens."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.run import Run
from pairmark.domain.errors import Malformed
from pairmark.importers.agentdojo import record as record_module
from tests.importers.logs import ATTACK, obeyed, put, read, record

GOOD = json.dumps(record(injection="injection_task_0", messages=obeyed())).encode()
PLACE = f"bank/user_task_0/{ATTACK}/injection_task_0.json"


def changed(**keys: object) -> bytes:
    return json.dumps(json.loads(GOOD) | keys).encode()


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "expected JSON"),
    "truncated": (GOOD[:-40], "expected JSON"),
    "not JSON": (b"<html>502 Bad Gateway</html>", "expected JSON"),
    "more than one value": (GOOD + GOOD, "expected JSON"),
    "a byte-order mark": (b"\xef\xbb\xbf" + GOOD, "expected JSON"),
    "not UTF-8": (GOOD.replace(b"Done", b"D\xe9ne"), "expected UTF-8"),
    "UTF-16": (GOOD.decode().encode("utf-16"), "expected UTF-8"),
    "a list": (b"[]", "expected a JSON object"),
    "null": (b"null", "expected a JSON object"),
    "no messages": (b'{"suite_name": "bank", "user_task_id": "user_task_0"}', "expected `messages`"),
    "a duplicate key": (GOOD[:-1] + b', "security": false}', "expected each key once"),
    "a duplicate key below": (GOOD.replace(b'"role": "user"', b'"role": "user", "role": "tool"', 1), "expected each key once"),
    "NaN": (GOOD.replace(b"1.5", b"NaN"), "expected finite numbers"),
    "Infinity": (GOOD.replace(b"1.5", b"-Infinity"), "expected finite numbers"),
    "a number too large": (GOOD.replace(b"1.5", b"1e999"), "expected finite numbers"),
    "a huge integer": (GOOD.replace(b"1.5", b"9" * 5000), "digits"),
    "deep nesting": (GOOD.replace(b"1.5", b"[" * 200 + b"]" * 200), "nesting"),
    "very deep nesting": (GOOD.replace(b"1.5", b"[" * 100_000 + b"]" * 100_000), "nesting"),
    "utility as text": (changed(utility="true"), "expected `utility`"),
    "utility as number": (changed(utility=1), "expected `utility`"),
    "security as text": (changed(security="no"), "expected `security`"),
    "error as object": (changed(error={"code": 503}), "expected `error`"),
    "duration as boolean": (changed(duration=True), "expected `duration`"),
    "duration as text": (changed(duration="1.5"), "expected `duration`"),
    "a version as number": (changed(benchmark_version=1.2), "expected `benchmark_version`"),
    "a task as number": (changed(user_task_id=0), "expected `user_task_id`"),
    "no suite": (changed(suite_name=None), "expected `suite_name`"),
    "injections as list": (changed(injections=["x"]), "expected `injections`"),
    "a payload as number": (changed(injections={"place": 1}), "expected `injections`"),
    "too many payloads": (changed(injections={str(n): "x" for n in range(300)}), "`injections`"),
    "a huge payload": (changed(injections={"place": "x" * (2**20 + 1)}), "`injections`"),
    "messages as object": (changed(messages={}), "expected `messages`"),
    "a message as text": (changed(messages=["hello"]), "message 0"),
    "a message without role": (changed(messages=[{"content": "x"}]), "message 0"),
    "content as number": (changed(messages=[{"role": "user", "content": 3}]), "message 0"),
    "a block as text": (changed(messages=[{"role": "user", "content": ["x"]}]), "message 0"),
    "a block with a number": (changed(messages=[{"role": "user", "content": [{"type": "text", "content": 1}]}]), "message 0"),
    "calls as object": (changed(messages=[{"role": "assistant", "content": None, "tool_calls": {}}]), "message 0"),
    "a call without arguments": (
        changed(messages=[{"role": "assistant", "content": None, "tool_calls": [{"function": "f"}]}]), "message 0",
    ),
    "an answer to no call": (changed(messages=[{"role": "tool", "content": "", "tool_call": "f"}]), "message 0"),
    "a tool error as number": (changed(messages=[{"role": "tool", "content": "", "error": 1}]), "message 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_it_is_listed_and_its_cell_is_aborted(tmp_path: Path, name: str) -> None:
    data, reason = BAD[name]
    put(tmp_path, data, PLACE)
    put(tmp_path, record("user_task_1", "injection_task_0"))
    found = read(tmp_path)
    assert [(Path(item.path), reason in item.reason) for item in found.unreadable] == [(tmp_path / PLACE, True)]
    row = found.episodes.row(0, named=True)
    assert (row["task_id"], row["injection_id"], row["status"]) == ("user_task_0", "injection_task_0", "cancelled")
    assert reason in row["error"]
    assert str(tmp_path) not in row["error"], "a ledger does not depend on where it was made"
    unknown = set(row) - {"task_id", "injection_id", "epoch", "status", "error", "attempt"}
    assert {row[name] for name in unknown} == {None}
    assert found.episodes.height == 2


def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, GOOD, PLACE)
    monkeypatch.setattr(record_module, "MAX_FILE_BYTES", len(GOOD) - 1)
    assert read(tmp_path).unreadable[0].reason == f"expected at most {len(GOOD) - 1} bytes, found {len(GOOD)}"


def test_a_pipe_is_no_file_and_does_not_block(tmp_path: Path) -> None:
    place = put(tmp_path, GOOD, PLACE)
    place.unlink()
    os.mkfifo(place)
    assert read(tmp_path).unreadable[0].reason == "expected a regular file"


def test_a_link_to_nowhere_is_listed(tmp_path: Path) -> None:
    place = put(tmp_path, GOOD, PLACE)
    place.unlink()
    place.symlink_to(tmp_path / "bank" / "gone.json")
    assert read(tmp_path).unreadable[0].reason.startswith("cannot be opened")


def test_half_a_surrogate_pair_in_a_message_is_read(tmp_path: Path) -> None:
    put(tmp_path, GOOD.replace(b"Done.", b"Done \\ud83d"), PLACE)
    found = read(tmp_path)
    assert found.unreadable == ()
    assert found.episodes["transcript_digest"].null_count() == 0


def test_no_mutation_of_a_record_does_more_than_that(tmp_path: Path) -> None:
    dice = random.Random(20260522)
    place = put(tmp_path, GOOD, PLACE)
    parts = [
        b'"',
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b"null",
        b"true",
        b"1e400",
        b"\\u0000",
        b"\\ud800",
        b"\xff",
        b"\n",
        b"-",
    ]
    outcomes: dict[str, int] = {}
    for _ in range(3000):
        data = bytearray(GOOD)
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(data))
            match dice.randrange(4):
                case 0:
                    del data[at : at + dice.randint(1, 30)]
                case 1:
                    data[at:at] = dice.choice(parts)
                case 2:
                    data[at] = dice.randrange(256)
                case _:
                    data[at : at + 5] = bytes(data[dice.randrange(len(data)) :][:5])
        place.write_bytes(bytes(data))
        try:
            found = read(tmp_path)
        except Malformed as problem:
            outcomes[problem.code] = outcomes.get(problem.code, 0) + 1
            continue
        row = found.episodes.row(0, named=True)
        outcomes[row["status"]] = outcomes.get(row["status"], 0) + 1
        assert (row["status"] == "cancelled") or not found.unreadable
        assert row["utility"] is None or row["status"] in ("completed", "agent_limit", "provider_block")
        Run.model_validate_json(canonical_bytes(found.run))
    assert outcomes.keys() <= {"completed", "agent_limit", "provider_block", "infra_error", "cancelled"}
    assert outcomes["completed"] > 100
    assert outcomes["cancelled"] > 100

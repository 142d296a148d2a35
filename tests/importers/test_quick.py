"""The quick way of reading a record says what the strict way says, or leaves it to that; so do the quick looks for payloads."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pairmark.importers.agentdojo import record as record_module
from pairmark.importers.agentdojo.delivery import delivery_of
from pairmark.importers.agentdojo.messages import message_of, transcript_digest
from pairmark.importers.agentdojo.quick import quick
from pairmark.importers.agentdojo.reading import _ESCAPE, _unescaped, forms, shows, unescape
from pairmark.importers.agentdojo.record import Record, UnreadableRecord, read_record
from pairmark.importers.agentdojo.sought import Sought, sought_in, squeezed
from tests.importers.logs import PAYLOAD, asked, calls, obeyed, record, returns, says

GOOD = json.dumps(record(injection="injection_task_0", messages=obeyed()), indent=4).encode()
LEFT_OUT = GOOD.replace(b'"tool_call_id": "c",', b"")


def strictly(path: Path) -> Record | str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_module, "quick", lambda data: None)
        return either(path)


def either(path: Path) -> Record | str:
    try:
        return read_record(path)
    except UnreadableRecord as problem:
        return str(problem)


def same(path: Path, data: bytes) -> bool:
    """Whether both ways agree; returns whether the quick way was taken."""
    path.write_bytes(data)
    one, other = either(path), strictly(path)
    if isinstance(one, Record) and isinstance(other, Record):
        assert {**vars(one), "plain": False} == vars(other)
        assert transcript_digest(one.messages, plain=one.plain) == transcript_digest(other.messages)
        return one.plain
    assert one == other
    return False


def test_what_the_harness_writes_goes_the_quick_way(tmp_path: Path) -> None:
    assert same(tmp_path / "r", GOOD)
    for leave_out in ((), ("utility", "security"), ("utility", "security", "duration")):
        assert same(tmp_path / "r", json.dumps(record(leave_out=leave_out)).encode())
    unused = [*asked(), {**calls("f", a={"b": [1, 2.5, None, True, {"c": "d"}]})}, returns("x", "f"), says()]
    unused[2]["tool_calls"][0]["placeholder_args"] = {"a": "b"}
    assert same(tmp_path / "r", json.dumps(record(messages=unused)).encode())


@pytest.mark.parametrize(
    "data",
    [GOOD.replace(b'"utility": true', b'"utility": false, "utility": true'), GOOD.replace(b'"utility": true', b'"utility" : true'),
     GOOD.replace(b'"utility": true', b'"utility": false, "utility" : true'), GOOD.replace(b'"utility"', b'"more": 1, "utility"'),
     GOOD.replace(b'"utility": true', b'"utility":  false , "utility"\n: true'), GOOD.replace(b"bill.txt", b":bill.txt"),
     GOOD.replace(b"bill.txt", b'\\"amount\\": 3'), GOOD.replace(b"bill.txt", b'\\\\\\": '), GOOD.replace(b'"amount": 5', b'"amount": 1e16'),
     GOOD.replace(b'"amount": 5', b'"amount": 18446744073709551616'), GOOD.replace(b'"amount": 5', b'"amount": 0.00001'),
     GOOD.replace(b'"amount": 5', b'"amount": 9223372036854775808'), GOOD.replace(b'"amount": 5', b'"amount": NaN'),
     GOOD.replace(b'"amount": 5', b'"amount": 1e999'), GOOD.replace(b'"amount": 5', b'"amount": 5, "amount": 6'),
     GOOD.replace(b'"amount": 5', b'"amount": ' + b"[" * 40 + b"]" * 40), GOOD.replace(b'"amount": 5', b'"amount": ' + b"[" * 99 + b"]" * 99),
     GOOD.replace(b"Done.", b"\\ud83d"), GOOD.replace(b"Done.", b"\xff"), LEFT_OUT, GOOD + b" ", GOOD + b"x", b"\xef\xbb\xbf" + GOOD,
     GOOD.replace(b'"place"', b'"place": "x", "place"'), b"", b"{}", b"[]", b":", b'":']
)  # fmt: skip
def test_the_unusual_is_read_as_strictly_as_ever(tmp_path: Path, data: bytes) -> None:
    same(tmp_path / "r", data)


PARTS = [b'"', b"{", b"}", b"[", b"]", b":", b'":', b",", b"null", b"true", b"1e400", b"\\u0000", b"\\ud800", b"\xff", b"\n", b"-", b" ",
         b"\\", b'"utility": true,', b'"a": 1,', b"9" * 25, b"0.1", b'"role": "user",']  # fmt: skip


@settings(max_examples=150)
@given(st.data())
def test_no_mutation_tells_the_two_ways_apart(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    text = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.sampled_from([0, 0, 1, 5]))] = data.draw(st.sampled_from(PARTS))
    same(tmp_path_factory.getbasetemp() / "mutated", bytes(text))


numbers = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([-0.0, 1e16, 1e-4, 9007199254740993]))
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.text()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150)
@given(st.dictionaries(st.text(), values, max_size=4), st.text(), st.booleans())
def test_any_arguments_and_texts_have_one_digest(
    tmp_path_factory: pytest.TempPathFactory, arguments: dict[str, Any], text: str, ascii_only: bool
) -> None:
    made = record(messages=[*asked(text), {**calls("f"), "tool_calls": [{"function": "f", "args": arguments, "id": None}]}, says(text)])
    same(tmp_path_factory.getbasetemp() / "made", json.dumps(made, indent=4, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass"))


escaped = st.text(st.sampled_from("\\\\\\\\nrtxuU0aeN_LP'\"q41fdD8c/ \n\r\tAé"), max_size=30)


@settings(max_examples=200)
@given(escaped)
@example("\\ud83d\\ude00")
@example("\\x4")
@example("\\")
@example("\\\r\n  a")
def test_escapes_are_undone_as_one_expression_would(text: str) -> None:
    assert unescape(text) == _ESCAPE.sub(_unescaped, text)


def test_squeezing_takes_out_what_an_expression_calls_white_space() -> None:
    for code in range(sys.maxunicode + 1):
        text = f"a{chr(code)}-B"
        assert squeezed(text) == re.sub(r"[\s-]+", "", text).casefold(), code


payloads = st.sampled_from([PAYLOAD, "Send 5, now", "abc def", "x41", "ünï", "a\\nb", "it's"])
around = st.text(st.sampled_from("\\\\nxu41' \nabcdefx"), max_size=12)
disguises = st.sampled_from([str, lambda text: json.dumps(text)[1:-1], lambda text: text.replace("'", "''"), lambda text: text.replace("c", "\\x63"),
                             lambda text: text.replace("d", "\\\\\\nd"), lambda text: json.dumps(json.dumps(text)), lambda text: text[:-1]])  # fmt: skip


@settings(max_examples=200)
@given(payloads, disguises, around, around)
def test_where_no_word_of_a_payload_stands_no_reading_holds_it(payload: str, disguise: Any, before: str, after: str) -> None:
    output = before + disguise(payload) + after
    if shows(forms(output), forms(payload)):
        assert sought_in([payload]).may_stand_in(output)


@settings(max_examples=150)
@given(st.lists(st.tuples(payloads, disguises, around, st.sampled_from(["", " US133000000121212121212", " eve@evil.example"])), max_size=4))
def test_what_was_delivered_is_what_a_look_at_every_reading_says(outputs: list[Any]) -> None:
    texts = [before + disguise(payload) + beside for payload, disguise, before, beside in outputs]
    messages = [*asked(), *(message for text in texts for message in (calls("f"), returns(text, "f")))]
    payload_forms = forms(PAYLOAD)
    shown = [shows(forms(text), payload_forms) for text in texts]
    found = delivery_of([message_of(message) for message in messages], {"place": PAYLOAD})
    assert found.delivered == any(shown[:-1])  # a model turn follows every output but the last


@settings(max_examples=200)
@given(
    st.sampled_from([PAYLOAD, "US133000000121212121212 x@evil.example", "x@evil.example", "a x@evil.example a"]),
    st.lists(st.tuples(disguises, around, st.sampled_from(["", " US13-3000000121212121212", "x@evil.example", "x@ev", "il.example", "a", " a "])), max_size=4),
    st.booleans(),
)
def test_a_payload_that_is_cut_out_at_once_leaves_what_the_readings_leave(payload: str, parts: list[Any], twice: bool) -> None:
    """Wherever the quick look at an output has an answer, it is that of the slow one."""
    output = "".join(f"{beside}{around_it}{disguise(payload) * (1 + twice)}{beside}" for disguise, around_it, beside in parts)
    ask = {"about": "x@evil.example US133000000121212121212"}
    messages = [message_of(message) for message in [*asked(), calls("f"), returns(output, "f"), calls("g", **ask), returns("ok", "g", **ask), says()]]
    found = delivery_of(messages, {"place": payload})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sought, "rest_of", lambda self, text: None)
        assert delivery_of(messages, {"place": payload}) == found


def test_the_quick_way_keeps_within_the_limits_of_payloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_module, "MAX_PAYLOAD_CHARACTERS", 10)
    (tmp_path / "r").write_bytes(GOOD)
    assert "at most 10 characters" in str(either(tmp_path / "r"))
    assert quick(GOOD) is not None

"""The vectorised reader and the plain model judge every line alike."""

from __future__ import annotations

import json
import random
import sys
import unicodedata
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from pydantic import ValidationError

from pairmark.adapters.ledgers import jsonl_in
from pairmark.adapters.ledgers.checks import ColumnChecks
from pairmark.adapters.ledgers.decode import decode_block, line_ends
from pairmark.adapters.ledgers.jsonl_in import JsonLinesReader
from pairmark.adapters.ledgers.limits import DEFAULT_LIMITS, Limits
from pairmark.domain import strict_json
from pairmark.domain.documents.episode import Episode
from pairmark.domain.episodes import EPISODE_SCHEMA
from pairmark.domain.errors import Malformed
from tests.ledgers.making import digest, episode, episodes, lines

GOOD = lines([episode()])[:-1]
WITH = GOOD[:-1]  # without the closing brace


def read(data: bytes, *, limits: Limits = DEFAULT_LIMITS, block_bytes: int = jsonl_in.BLOCK_BYTES) -> pl.DataFrame:
    reader = JsonLinesReader(file="ledger", limits=limits, block_bytes=block_bytes)
    frames = [*reader.feed(data), *reader.finish()]
    return pl.concat(frames) if frames else pl.DataFrame(schema=EPISODE_SCHEMA)


def refusal(data: bytes, **options: Any) -> Malformed:
    with pytest.raises(Malformed) as caught:
        read(data, **options)
    return caught.value


def model_accepts(line: bytes) -> bool:
    """The plain judgement, independent of the adapter: one JSON object that the Episode model takes."""
    try:
        Episode.model_validate(strict_json.parse(line))
    except (Malformed, ValidationError):
        return False
    return True


def fast(data: bytes) -> pl.DataFrame | None:
    return decode_block(data, line_ends(data), 2**21, ColumnChecks(file=None, limits=DEFAULT_LIMITS))


BAD = {
    "duplicate key": (WITH + b',"epoch":1}', "duplicate-key", "/epoch"),
    "duplicate key with null": (WITH + b',"error":null}', "duplicate-key", "/error"),
    "duplicate key, escaped": (WITH + b',"\\u0065poch":1}', "duplicate-key", "/epoch"),
    "duplicate key beside an absent one": (
        b'{"task_id":"a","injection_id":null,"epoch":1,"status":"completed","error":null,"error":null}', "duplicate-key", "/error",
    ),
    "unknown key": (WITH + b',"seed":1}', "unknown-key", "/seed"),
    "missing key": (GOOD.replace(b'"injection_id":"injection_task_3",', b""), "missing-key", "/injection_id"),
    "NaN": (GOOD.replace(b"12840", b"NaN"), "not-finite", "/duration_ms"),
    "Infinity": (GOOD.replace(b"12840", b"-Infinity"), "not-finite", "/duration_ms"),
    "float": (GOOD.replace(b'"epoch":1', b'"epoch":1.0'), "invalid-value", "/epoch"),
    "exponent": (GOOD.replace(b'"epoch":1', b'"epoch":1e3'), "invalid-value", "/epoch"),
    "integer beyond doubles": (GOOD.replace(b"12840", b"9007199254740992"), "number-range", "/duration_ms"),
    "integer of 17 digits": (GOOD.replace(b"12840", b"12345678901234567"), "number-range", "/duration_ms"),
    "integer of 5000 digits": (GOOD.replace(b"12840", b"1" * 5000), "number-range", "/duration_ms"),
    "zero epoch": (GOOD.replace(b'"epoch":1', b'"epoch":0'), "invalid-value", "/epoch"),
    "zero attempt": (GOOD.replace(b'"attempt":1', b'"attempt":0'), "invalid-value", "/attempt"),
    "negative count": (GOOD.replace(b"12840", b"-1"), "invalid-value", "/duration_ms"),
    "boolean for integer": (GOOD.replace(b"12840", b"true"), "invalid-value", "/duration_ms"),
    "number for boolean": (GOOD.replace(b'"utility":true', b'"utility":1'), "invalid-value", "/utility"),
    "string for boolean": (GOOD.replace(b'"utility":true', b'"utility":"true"'), "invalid-value", "/utility"),
    "number for id": (GOOD.replace(b'"user_task_0"', b"0"), "invalid-value", "/task_id"),
    "null id": (GOOD.replace(b'"user_task_0"', b"null"), "invalid-value", "/task_id"),
    "empty id": (GOOD.replace(b"user_task_0", b""), "invalid-value", "/task_id"),
    "control character in id": (GOOD.replace(b"user_task_0", b"a\\u0000b"), "invalid-value", "/task_id"),
    "delete in id": (GOOD.replace(b"user_task_0", b"a\x7f"), "invalid-value", "/task_id"),
    "long id": (GOOD.replace(b"user_task_0", "é".encode() * 1025), "invalid-value", "/task_id"),
    "long error": (GOOD.replace(b'"error":null', b'"error":"' + b"e" * 1_000_001 + b'"'), "invalid-value", "/error"),
    "unknown status": (GOOD.replace(b"completed", b"Completed"), "invalid-value", "/status"),
    "upper-case digest": (GOOD.replace(digest("transcript").encode(), digest("transcript").upper().encode()), "invalid-value", "/transcript_digest"),
    "upper-case hex": (GOOD.replace(digest("transcript").encode(), b"sha256:" + b"A" * 64), "invalid-value", "/transcript_digest"),
    "short digest": (GOOD.replace(digest("transcript").encode(), b"sha256:" + b"a" * 63), "invalid-value", "/transcript_digest"),
    "digest of another kind": (GOOD.replace(digest("transcript").encode(), b"sha512:" + b"a" * 64), "invalid-value", "/transcript_digest"),
    "letters moved in a digest": (GOOD.replace(digest("transcript").encode(), b"sha256:" + b"a" * 63 + b":"), "invalid-value", "/transcript_digest"),
    "lone surrogate": (GOOD.replace(b"user_task_0", b"\\ud800"), "lone-surrogate", "/task_id"),
    "lone low surrogate": (GOOD.replace(b"user_task_0", b"x\\udc00"), "lone-surrogate", "/task_id"),
    "encoded surrogate": (GOOD.replace(b"user_task_0", b"\xed\xa0\x80"), "not-utf8", None),
    "not UTF-8": (GOOD.replace(b"user_task_0", b"\xff"), "not-utf8", None),
    "overlong UTF-8": (GOOD.replace(b"user_task_0", b"\xc0\x80"), "not-utf8", None),
    "byte-order mark": (b"\xef\xbb\xbf" + GOOD, "byte-order-mark", None),
    "blank": (b"", "blank-line", None),
    "spaces only": (b" \t\r", "blank-line", None),
    "two objects": (GOOD + GOOD, "not-json", None),
    "two objects with a return": (GOOD + b"\r" + GOOD, "not-json", None),
    "array": (b"[" + GOOD + b"]", "not-an-object", ""),
    "null": (b"null", "not-an-object", ""),
    "comment": (GOOD + b"//", "not-json", None),
    "cut off": (GOOD[:100], "not-json", None),
    "trailing comma": (WITH + b",}", "not-json", None),
    "single quotes": (GOOD.replace(b'"', b"'"), "not-json", None),
    "raw tab in text": (GOOD.replace(b'"error":null', b'"error":"\t"'), "not-json", None),
    "object for text": (GOOD.replace(b'"error":null', b'"error":{"a":1}'), "invalid-value", "/error"),
    "deep": (GOOD.replace(b'"error":null', b'"error":' + b"[" * 100_000 + b"]" * 100_000), "too-deep", None),
    "NUL behind": (GOOD + b"\x00", "not-json", None),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("before", [0, 1, 700])
def test_a_bad_line_is_refused_with_its_place(name: str, before: int) -> None:
    line, code, pointer = BAD[name]
    assert not model_accepts(line)
    found = refusal(GOOD * 0 + (GOOD + b"\n") * before + line + b"\n" + (GOOD + b"\n") * 50)
    assert (found.code, found.file, found.line) == (code, "ledger", before + 1)
    if pointer is not None:
        assert found.pointer == pointer
    assert "expected" in found.message
    assert "\n" not in str(found)


GOOD_WAYS = {
    "as is": GOOD,
    "spaces": b'  {  "task_id" : "a" ,\t"injection_id":null , "epoch":1 , "status":"cancelled" }  \r',
    "escaped key": GOOD.replace(b'"error"', b'"\\u0065rror"'),
    "escaped text": GOOD.replace(b'"error":null', b'"error":"\\u0000\\/\\"\\\\\\ud83d\\ude00 \\n"'),
    "negative zero": GOOD.replace(b"12840", b"-0"),
    "largest integer": GOOD.replace(b"12840", b"9007199254740991"),
    "id of 1024 characters": GOOD.replace(b"user_task_0", "é".encode() * 1024),
    "no optional key": b'{"status":"completed","epoch":1,"injection_id":null,"task_id":"a"}',
    "text that looks like keys": GOOD.replace(b'"error":null', b'"error":"{\\"epoch\\":1}, \\"epoch\\":1"'),
    "line separators that are not newlines": GOOD.replace(b'"error":null', '"error":"\u2028\u0085\x7f"'.encode()),
    "C1 control in id": GOOD.replace(b"user_task_0", "a\u0085".encode()),
}


@pytest.mark.parametrize("name", GOOD_WAYS)
def test_what_is_allowed_is_read_and_means_what_it_says(name: str) -> None:
    line = GOOD_WAYS[name]
    assert model_accepts(line)
    expected = dict.fromkeys(EPISODE_SCHEMA) | json.loads(line)
    expected["attempt"] = expected["attempt"] or 1
    for data in (line, line + b"\n", (line + b"\n") * 40):
        frame = read(data)
        assert frame.schema == EPISODE_SCHEMA
        assert frame.row(-1, named=True) == expected


def test_an_empty_ledger_is_read_as_no_rows() -> None:
    assert read(b"").height == 0


def test_the_vectorised_reader_is_used_and_not_only_its_fallback() -> None:
    """Every style of writing goes the fast way, so the equality tests here do test it."""
    for style in range(3):
        data = lines(episodes(500), style=style)
        frame = fast(data)
        assert frame is not None
        assert frame.equals(read(data))


def test_blocks_do_not_matter() -> None:
    data = lines(episodes(400))
    whole = read(data)
    for block_bytes in (1, 700, 5000):
        reader = JsonLinesReader(file=None, limits=Limits(), block_bytes=block_bytes)
        frames = []
        for at in range(0, len(data), 333):
            frames += list(reader.feed(data[at : at + 333]))
        frames += list(reader.finish())
        assert pl.concat(frames).equals(whole)


def test_limits_are_named() -> None:
    long = GOOD.replace(b'"error":null', b'"error":"' + b"e" * 500 + b'"')
    found = refusal((GOOD + b"\n") * 3 + long + b"\n", limits=Limits(line=len(GOOD)))
    assert (found.code, found.line) == ("too-large", 4)
    assert "`line`" in found.message
    found = refusal(b"x" * 5000, limits=Limits(line=1000), block_bytes=2000)
    assert (found.code, found.line) == ("too-large", 1)
    found = refusal((GOOD + b"\n") * 11, limits=Limits(rows=10))
    assert found.code == "too-large"
    assert "`rows`" in found.message
    many = lines(episode(task_id=f"K{number}") for number in range(20))
    assert "`ids`" in refusal(many, limits=Limits(ids=10)).message


@pytest.mark.parametrize("kind", ["task_id", "injection_id"])
@pytest.mark.parametrize(("one", "other"), [("Å", "A\u030a"), ("K", "\u212a"), (";", "\u037e"), ("`", "\u1fef"), ("\u212b", "Å")])
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("far", [3, 3000])
def test_ids_that_collide_after_normalisation_are_refused(kind: str, one: str, other: str, swap: bool, far: int) -> None:
    first, second = (other, one) if swap else (one, other)
    rows = [episode(**{kind: f"x{first}"}), *[episode()] * far, episode(**{kind: f"x{second}"})]
    found = refusal(lines(rows), block_bytes=10_000)
    assert (found.code, found.line, found.pointer) == ("id-collision", far + 2, f"/{kind}")
    assert "\\u" in found.message or "\\x" in found.message
    assert read(lines([episode(task_id=f"x{first}"), episode(injection_id=f"x{second}")])).height == 2


def test_only_three_characters_normalise_to_ascii() -> None:
    """What the collision check relies on for passing over plain ASCII ids."""
    to_ascii = {}
    for number in range(0x80, sys.maxunicode + 1):
        normal = unicodedata.normalize("NFC", chr(number))
        if normal.isascii():
            to_ascii[chr(number)] = normal
    assert to_ascii == {"\u037e": ";", "\u1fef": "`", "\u212a": "K"}


def test_a_column_refuses_an_absent_key_and_a_huge_integer() -> None:
    """What the key count and the integer check rely on."""
    for kind in EPISODE_SCHEMA.values():
        with pytest.raises((TypeError, ValueError)):
            pl.Series("x", [None, UNSET], dtype=kind, strict=True)
    with pytest.raises((TypeError, ValueError, OverflowError)):
        pl.Series("x", [1, 2**63], dtype=pl.Int64(), strict=True)


VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**65), 2**65), st.floats(), st.text(max_size=8),
    st.sampled_from([1, 0, -1, 1.0, 2**53 - 1, 2**53, "", "completed", "x" * 1025, digest("d"), digest("d") + "\n", [], {}, ["a"], {"a": 1}]),
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A line with a few changes of values, keys or bytes."""
    row = episode(**draw(st.dictionaries(st.sampled_from(sorted(EPISODE_SCHEMA)), VALUES, max_size=3)))
    for key in draw(st.lists(st.sampled_from(sorted(EPISODE_SCHEMA)), max_size=3)):
        row.pop(key, None)
    if draw(st.integers(0, 9)) == 0:
        row[draw(st.text(max_size=4))] = draw(VALUES)
    data = bytearray(json.dumps(row, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass"))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(data) - 1))
        what = draw(st.sampled_from(["set", "cut", "insert", "copy"]))
        if what == "set":
            data[at] = draw(st.integers(0, 255))
        elif what == "cut":
            del data[at : at + draw(st.integers(1, 30))]
        elif what == "insert":
            data[at:at] = draw(st.sampled_from([b"}", b"{", b'"', b"\\", b",", b" ", b"1", b".0", b"e1", b"\x00", b'"epoch":1,', b"\\ud800", b"null"]))
        else:
            end = at + draw(st.integers(1, 40))
            data[at:at] = data[at:end]
        if not data:
            data = bytearray(b" ")
    return bytes(data).replace(b"\n", b" ")


@settings(max_examples=1500, deadline=None)
@given(mutated(), st.integers(0, 3))
def test_both_readers_judge_mutated_lines_alike(line: bytes, place: int) -> None:
    expected = model_accepts(line)
    block = (GOOD + b"\n") * place + line + b"\n" + (GOOD + b"\n") * (3 - place)
    found = fast(block)
    if found is not None:
        assert expected, "the vectorised reader let something through"
    if expected:
        frame = read(block)
        value = dict.fromkeys(EPISODE_SCHEMA) | json.loads(line)
        value["attempt"] = value["attempt"] or 1
        assert frame.row(place, named=True) == value
    else:
        assert refusal(block).line == place + 1


@settings(max_examples=500, deadline=None)
@given(st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(EPISODE_SCHEMA, VALUES)), min_size=1, max_size=4))
def test_both_readers_judge_arbitrary_values_alike(rows: list[dict[str, Any]]) -> None:
    written = [json.dumps(episode(**row)).encode() for row in rows]
    expected = [model_accepts(line) for line in written]
    found = fast(b"\n".join(written))
    assert (found is not None) <= all(expected)
    try:
        read(b"\n".join(written))
        found_at = None
    except Malformed as problem:
        found_at = problem.line
        collision = problem.code == "id-collision"
    else:
        collision = False
    assert collision or found_at == (None if all(expected) else expected.index(False) + 1)


def test_repeated_keys_are_found_wherever_they_stand() -> None:
    """Thousands of lines that differ from a good one only in a key that stands twice."""
    rng = random.Random(5)
    for _ in range(2000):
        row = rng.choice(episodes(1, rng.randrange(1000)))
        items = [f"{json.dumps(key)}:{json.dumps(value)}" for key, value in row.items()]
        items.insert(rng.randrange(len(items) + 1), rng.choice(items))
        line = ("{" + ",".join(items) + "}").encode()
        assert fast((GOOD + b"\n") * 3 + line) is None
        assert not model_accepts(line)

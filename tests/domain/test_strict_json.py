"""Strict JSON: everything that is not plainly one value is refused, with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.domain.canonical import canonical_bytes, digest_of
from pairmark.domain.errors import Malformed
from pairmark.domain.strict_json import MAX_DEPTH, MAX_SAFE_INTEGER, parse

REFUSED: list[tuple[bytes, str, int | None, str | None]] = [
    (b"", "not-json", 1, None),
    (b"nul", "not-json", 1, None),
    (b'{"a":1}\n{"b":2}', "not-json", 2, None),
    (b'{"a":1}\x00', "not-json", 1, None),
    (b'\x0c{"a":1}', "not-json", 1, None),
    ("\u00a0{}".encode(), "not-json", 1, None),
    ('{"a":\u0661}'.encode(), "not-json", 1, None),
    (b'{"a":01}', "not-json", 1, None),
    (b'{"a":+1}', "not-json", 1, None),
    (b'{"a":.5}', "not-json", 1, None),
    (b'{"a":1.}', "not-json", 1, None),
    (b'{"a":1,}', "not-json", 1, None),
    (b'{"a":"\n"}', "not-json", 1, None),
    (b"{'a':1}", "not-json", 1, None),
    (b'{"a":1}//', "not-json", 1, None),
    (b"\xef\xbb\xbf{}", "byte-order-mark", 1, None),
    (b'{\n"a":"\xff"}', "not-utf8", 2, None),
    ('{"a":1}'.encode("utf-16"), "not-utf8", 1, None),
    (b'{"a":1,\n"a":1}', "duplicate-key", 2, "/a"),
    (b'{"a":1,"\\u0061":2}', "duplicate-key", 1, "/a"),
    (b'{"a/b":{"~":1,\n"~":2}}', "duplicate-key", 2, "/a~1b/~0"),
    (b'[{"a":1},\n{"a":1},\n{"a":{"b":1,\n"b":2}}]', "duplicate-key", 4, "/2/a/b"),
    (b'{"b":"NaN","a":\nNaN}', "not-finite", 2, "/a"),
    (b"[1,\n-Infinity]", "not-finite", 2, "/1"),
    (b"Infinity", "not-finite", 1, ""),
    (b'{"a":\n9007199254740992}', "number-range", 2, "/a"),
    (b"[-9007199254740992]", "number-range", 1, "/0"),
    (b"[12345678901234567]", "number-range", 1, "/0"),
    (b"[1e400]", "number-range", 1, "/0"),
    (b"[-1e400]", "number-range", 1, "/0"),
    (b"[1e16]", "number-range", 1, "/0"),
    (b"[9007199254740992.0]", "number-range", 1, "/0"),
    (b"[" + b"1" * 5000 + b"]", "number-range", 1, "/0"),
    (b'{"a":\n"\\ud800"}', "lone-surrogate", 2, "/a"),
    (b'{"a":\n"\\udc00x"}', "lone-surrogate", 2, "/a"),
    (b'{"\\ud800":1}', "lone-surrogate", 1, ""),
    (b"\n" + b"[" * 100_000, "too-deep", 2, None),
    (b'{"a":"[[[",\n"b":' + b"[" * 64 + b"]" * 64 + b"}", "too-deep", 2, "/b" + "/0" * 64),
]


@pytest.mark.parametrize(("data", "code", "line", "pointer"), REFUSED, ids=range(len(REFUSED)))
def test_it_is_refused_with_code_line_and_pointer(
    data: bytes, code: str, line: int | None, pointer: str | None
) -> None:
    if pointer is not None and code == "too-deep":
        pointer = "/b" + "/0" * MAX_DEPTH
        data = b'{"a":"[[[",\n"b":' + b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1) + b"}"
    with pytest.raises(Malformed) as refusal:
        parse(data, file="some.json")
    found = refusal.value
    assert (found.code, found.line, found.pointer, found.file) == (code, line, pointer, "some.json")
    assert found.remedy
    assert "\n" not in str(found)
    assert len(str(found)) < 2100


@pytest.mark.parametrize("number", [MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER, 0, 1e21, 1.7976931348623157e308, 5e-324, 0.1])
def test_what_a_double_holds_is_kept(number: float) -> None:
    assert parse(canonical_bytes([number])) == [number]


def test_depth_up_to_the_limit_is_fine() -> None:
    assert parse(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH) is not None


def test_a_very_long_number_is_refused_quickly_and_shortly() -> None:
    with pytest.raises(Malformed) as refusal:
        parse(b"1" * 3_000_000)
    assert len(str(refusal.value)) < 300


def test_white_space_and_escapes_are_only_writing() -> None:
    written = b' {"b" : [1.0 , 2e0], "\\u0061" : "\\/\\u00e9" } \r\n'
    assert digest_of(parse(written)) == digest_of(parse('{"a":"/é","b":[1,2]}'.encode()))


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda children: (
        st.lists(children, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), children, max_size=4)
    ),
    max_leaves=20,
)


def parsed(data: bytes) -> Any:
    """The value, or the refusal."""
    try:
        return parse(data, file="f")
    except Malformed as refusal:
        return refusal


@given(json_values)
def test_what_is_accepted_is_accepted_again_in_canonical_form(value: Any) -> None:
    first = parsed(json.dumps(value).encode())
    if isinstance(first, Malformed):
        assert first.code == "number-range"
    else:
        assert canonical_bytes(parse(canonical_bytes(first))) == canonical_bytes(first)


@given(json_values, st.data())
def test_no_mutation_of_a_byte_ends_in_anything_but_a_value_or_a_refusal(value: Any, data: st.DataObject) -> None:
    written = bytearray(json.dumps(value, ensure_ascii=False).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(written) - 1))
        written[place] = data.draw(st.integers(0, 255))
    found = parsed(bytes(written))
    if isinstance(found, Malformed):
        assert found.file == "f"
        assert "\n" not in str(found)

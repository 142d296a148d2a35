"""The quick way to RFC 8785 form agrees with the reference, and refuses what the reference refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.errors import Malformed
from pairmark.provenance.exact import exact_bytes, read_exact

TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53 - 1), 2**53 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
)


@given(VALUES)
def test_both_ways_write_the_same_bytes_and_read_them_back(value: Any) -> None:
    data = canonical_bytes(value)
    assert exact_bytes(value) == data
    assert read_exact(data, "a value") == value


@given(VALUES, st.data())
def test_no_other_bytes_of_the_same_value_are_read(value: Any, data: st.DataObject) -> None:
    written = json.dumps(value, indent=data.draw(st.sampled_from([None, 1])), ensure_ascii=data.draw(st.booleans())).encode()
    if written == canonical_bytes(value):
        return
    with pytest.raises(Malformed, match="not-canonical"):
        read_exact(written, "a value")


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1,"a":1}', b'{"b":1,"a":1}', b"1.5", b"1.0", b"1e3", b"-0", b"9007199254740992", b"NaN", b"Infinity", b'"\\ud800"', b'"\\u0061"',
        b'"\\/"', b"[1,]", b"", b" 1", b"1\n", b"\xef\xbb\xbf1", b"\xff", b"[" * 5000, b"[" * 200 + b"]" * 200, b"1" * 5000, b'"\x01"',
        '{"\U0001f600":1,"\uff5e":1.5}'.encode(), '{"\uff5e":1,"\U0001f600":1}'.encode(),
    ],
    ids=lambda data: repr(data[:20]),
)  # fmt: skip
def test_what_is_not_in_form_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        read_exact(data, "a value")

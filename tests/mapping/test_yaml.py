"""Mapping files are YAML with the limits of JSON: nothing is expanded, guessed or taken twice."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.domain.errors import Malformed
from pairmark.importers.mapping_yaml import MAX_BYTES, MAX_NODES, read_yaml

BOMB = b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
REFUSED = {
    "an alias": (BOMB, "bad-yaml", 1),
    "an alias alone": (b"a: 1\nb: *a\n", "bad-yaml", 2),
    "an anchored key": (b"&k a: 1\n", "bad-yaml", 1),
    "a tag": (b"a: !!python/object/apply:os.system [x]\n", "bad-yaml", 1),
    "a tag of a kind": (b"a: !!str 1\n", "bad-yaml", 1),
    "a key twice": (b"a: 1\n\na: 2\n", "duplicate-key", 3),
    "a key twice in a flow": (b"{a: 1, a: 2}", "duplicate-key", 1),
    "a list as a key": (b"? [a]\n: 1\n", "bad-yaml", 1),
    "two documents": (b"a: 1\n---\nb: 2\n", "bad-yaml", 2),
    "too deep": (b"[" * 200 + b"]" * 200, "bad-yaml", 1),
    "too deep and never closed": (b"{a: " * 10_000, "bad-yaml", 1),
    "too many values": (b"[" + b"1," * (MAX_NODES + 1) + b"]", "bad-yaml", 1),
    "too large": (b"a: '" + b"x" * MAX_BYTES + b"'", "too-large", None),
    "not UTF-8": (b"a: \xff", "not-utf8", None),
    "a NUL": (b"a: \x00", "not-yaml", None),
    "never closed": (b"a: 'x", "not-yaml", 1),
    "a tab for an indent": (b"a:\n\t- b\n", "not-yaml", 2),
    "an integer beyond a double": (b"a: 9007199254740993", "bad-yaml", 1),
    "another version of YAML": (b"%YAML 9.9\n---\na: 1\n", "not-yaml", None),
}


@pytest.mark.parametrize(("data", "code", "line"), REFUSED.values(), ids=REFUSED)
def test_refused_with_its_line_and_at_once(data: bytes, code: str, line: int | None) -> None:
    begun = time.process_time()
    with pytest.raises(Malformed) as refused:
        read_yaml(data, file="m.yaml")
    assert time.process_time() - begun < 5
    assert refused.value.code == code
    assert refused.value.file == "m.yaml"
    if line is not None:
        assert refused.value.line == line
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "True", "FALSE", "Null", "012", "0x1f", "1_000", ".nan", ".inf", "1:30", "2026-01-22"])
def test_words_that_other_readers_guess_about_are_text(word: str) -> None:
    assert read_yaml(f"a:\n- {word}\n".encode()).value == {"a": [word]}


def test_what_json_writes_plainly_is_what_json_means() -> None:
    assert read_yaml(b"[true, false, null, ~, 1, -2, 0.5, 1e3, 'true', \"1\", x]").value == [
        True, False, None, None, 1, -2, 0.5, 1000.0, "true", "1", "x",
    ]  # fmt: skip
    assert read_yaml(b"true: 1\n2: 3\n").value == {"true": 1, "2": 3}


def test_places_are_known_by_line() -> None:
    read = read_yaml(b"a:\n  b:\n  - 1\n  - c/d: 2\n")
    assert (read.line_of("/a/b/1/c~1d"), read.line_of("/a/b/1/zzz"), read.line_of("")) == (4, 4, 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(st.characters(codec="ascii", min_codepoint=32), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="ascii", min_codepoint=32), max_size=6), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_json_is_yaml(value: object) -> None:
    assert read_yaml(json.dumps(value).encode()).value == value


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(Malformed):
        read_yaml(data)

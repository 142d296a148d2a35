"""Errors are one line that says where, what and what to do, whatever text they quote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.domain.errors import Conflict, Malformed, NotFound, PairmarkError, one_line, shown, shown_place


def test_a_malformed_input_says_where_what_and_what_to_do() -> None:
    error = Malformed(
        "duplicate-key", "expected each key once, found 'a' again", "suite.json", 3, "/a", "keep one of the two"
    )
    assert str(error) == "suite.json:3 /a: expected each key once, found 'a' again; keep one of the two [duplicate-key]"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Malformed("c", "m"), "m [c]"),
        (Malformed("c", "m", "f"), "f: m [c]"),
        (Malformed("c", "m", None, 2), "line 2: m [c]"),
        (Malformed("c", "m", None, None, ""), "(whole document): m [c]"),
        (Malformed("c", "m", "f", None, "/x", "r"), "f /x: m; r [c]"),
        (Conflict("c", "m", "r"), "m; r [c]"),
        (NotFound("c", "m"), "m [c]"),
    ],
)
def test_what_is_not_known_is_left_out(error: PairmarkError, text: str) -> None:
    assert str(error) == text
    assert isinstance(error, PairmarkError)


def test_places_are_filled_in_never_changed() -> None:
    error = Malformed("c", "m", None, None, "/x").located(file="f", line=4, pointer="/y")
    assert (error.file, error.line, error.pointer) == ("f", 4, "/x")
    again = error.located(file="g", line=9)
    assert (again.file, again.line) == ("f", 4)


@given(st.text(), st.integers(2, 50))
def test_one_line_is_one_printable_line_within_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert line.isprintable()
    if text.isprintable() and len(text) <= limit:
        assert line == text
    assert len(line.splitlines()) <= 1


@given(st.recursive(st.text() | st.integers() | st.none(), st.lists, max_leaves=5))
def test_any_value_is_shown_in_one_short_line(value: object) -> None:
    assert len(shown(value)) <= 80
    assert shown(value).isprintable()


def test_a_place_keeps_its_end_however_deep_it_lies() -> None:
    deep = "/".join(["", *["folder"] * 100, "copy.eval#inbox/1"])
    assert shown_place(deep).endswith("/copy.eval#inbox/1'")
    assert len(shown_place(deep)) <= 300
    assert shown_place("runs/copy.eval") == "'runs/copy.eval'"


@given(st.text())
def test_any_place_is_shown_in_one_line(place: str) -> None:
    assert len(shown_place(place)) <= 600
    assert shown_place(place).isprintable()

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.app.paging import cursor_at, place_of, query_mark
from pairmark.domain.errors import Malformed

texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40)
numbers = st.floats(-(2.0**52), 2.0**52)


@given(texts, numbers, st.integers(0, 2**53 - 1))
def test_a_cursor_gives_back_its_place(text: str, number: float, count: int) -> None:
    mark = query_mark(["a query", text])
    assert place_of(cursor_at(mark, (text, number, count)), mark, (str, float, int)) == (text, number, count)


def test_no_cursor_is_no_place() -> None:
    assert place_of(None, query_mark([]), (str,)) is None


@given(st.text(max_size=60))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(Malformed) as refused:
        place_of(text, query_mark("query"), (str, str))
    assert refused.value.code == "bad-cursor"


@pytest.mark.parametrize("place", [("a",), ("a", "b", "c"), (1, "b"), ("a", 1.5), (True, "b"), ("a\0", "b")])
def test_a_cursor_of_another_shape_is_refused(place: tuple[str | int | float, ...]) -> None:
    mark = query_mark("query")
    with pytest.raises(Malformed):
        place_of(cursor_at(mark, place), mark, (str, str))


def test_a_cursor_of_another_query_is_refused() -> None:
    with pytest.raises(Malformed):
        place_of(cursor_at(query_mark("one"), ("a",)), query_mark("other"), (str,))

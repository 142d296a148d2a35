"""What a full document may change of an announced one."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.app.amend_run import differences

scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text("ab/~", max_size=3)
documents: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("xy/~", max_size=2), inner, max_size=3), max_leaves=12
)


def filled(value: Any, filling: Any) -> Any:
    """The document with every null replaced."""
    if value is None:
        return copy.deepcopy(filling)
    if isinstance(value, dict):
        return {key: filled(item, filling) for key, item in value.items()}
    return [filled(item, filling) for item in value] if isinstance(value, list) else value


@given(documents, documents)
def test_nulls_may_be_filled_with_anything(document: Any, filling: Any) -> None:
    assert differences(document, filled(document, filling)) == []


@given(documents)
def test_a_document_may_stay_as_it_is(document: Any) -> None:
    assert differences(document, document) == []


@pytest.mark.parametrize(
    ("before", "after", "pointers"),
    [
        ({"a": 1}, {"a": 2}, ["/a"]),
        ({"a": 1}, {"a": None}, ["/a"]),
        ({"a": 1}, {}, ["/a"]),
        ({}, {"a": None}, ["/a"]),
        ({"a": {"b/c": [1, 2]}}, {"a": {"b/c": [1, 3]}}, ["/a/b~1c/1"]),
        ({"a": [1]}, {"a": [1, 2]}, ["/a"]),
        ({"a": True}, {"a": 1}, ["/a"]),
        ({"a": 0}, {"a": False}, ["/a"]),
        ({"a": ""}, {"a": None}, ["/a"]),
        ({"a": 1, "b": 2}, {"a": 2, "b": 3}, ["/a", "/b"]),
    ],
)
def test_anything_else_is_a_difference(before: Any, after: Any, pointers: list[str]) -> None:
    assert [place.pointer for place in differences(before, after)] == pointers


def test_a_number_written_otherwise_is_no_difference() -> None:
    assert differences({"a": 0}, {"a": 0.0}) == []

"""What a value means, for each kind of column. Functions of one value; they are asked once for each distinct value."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import polars as pl

from pairmark.domain.errors import Malformed, shown
from pairmark.importers.generic.cells import json_text
from pairmark.importers.mapping import (
    LISTED,
    Condition,
    Identity,
    Scalar,
    StatusPattern,
    StatusValues,
    Values,
    Verdict,
    form_of,
)

MAX_INTEGER = 2**53 - 1
_MAX_ERROR_CHARACTERS = 2000
_MILLISECONDS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000}
_INTEGER = re.compile(r"-?[0-9]{1,16}")
_NUMBER = re.compile(r"-?[0-9]{1,16}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?")


class Forms:
    """Lists of values that can be looked up. In text-only files an unquoted `1` or `true` of the mapping is the text of it."""

    def __init__(self, text_only: bool) -> None:
        self._text_only = text_only

    def of(self, values: Values | None) -> frozenset[tuple[str, Scalar]]:
        """The values of a list."""
        return frozenset(self._form(value) for value in values or ())

    def _form(self, value: Scalar) -> tuple[str, Scalar]:
        if self._text_only and value is not None and not isinstance(value, str):
            return "str", json_text(value)
        return form_of(value)


def condition(given: Condition, forms: Forms) -> Callable[[Scalar], bool]:
    """Whether a row is wanted."""
    listed = forms.of(given.is_ if given.is_ is not None else given.is_not)
    wanted = given.is_ is not None
    return lambda value: (form_of(value) in listed) is wanted


def text(value: Scalar) -> str | None:
    """A text; a whole number is written as one."""
    if isinstance(value, bool):
        return json_text(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) <= MAX_INTEGER else repr(value)
    return None if value is None else str(value)


def identity(given: Identity, forms: Forms) -> Callable[[Scalar], str | None]:
    """An id, or null where the value means that there is none."""
    none = forms.of(given.none)
    return lambda value: None if form_of(value) in none else text(value)


def verdict(given: Verdict, forms: Forms, inverted: bool = False) -> Callable[[Scalar], bool | None]:
    """True, false or unknown."""
    true, false, unknown = forms.of(given.true), forms.of(given.false), forms.of(given.unknown)

    def meaning(value: Scalar) -> bool | None:
        form = form_of(value)
        found: bool | None = None
        if given.true_from is not None:
            amount = None if form in unknown else number(value)
            found = None if amount is None else amount >= given.true_from
        elif form in true or form in false:
            found = form in true
        return not found if inverted and found is not None else found

    return meaning


def status(given: StatusValues, forms: Forms) -> Callable[[Scalar], str | None]:
    """The status a value is listed under; null where it is in no list (patterns come next)."""
    of_form = {form: name for name in LISTED for form in forms.of(getattr(given, name))}
    return lambda value: of_form.get(form_of(value))


def by_patterns(given: StatusValues, column: pl.Expr) -> pl.Expr:
    """The first pattern that text matches, else `otherwise`."""
    found = pl.lit(given.otherwise, dtype=pl.String)
    for pattern in reversed(given.patterns or ()):
        found = pl.when(column.str.slice(1).str.contains(pattern.matches).fill_null(False)).then(pl.lit(pattern.means)).otherwise(found)
    return found


def check_patterns(patterns: tuple[StatusPattern, ...] | None) -> None:
    """Refuse a pattern that the engine does not take.

    Raises:
        Malformed: with a pointer into the mapping.
    """
    for place, pattern in enumerate(patterns or ()):
        try:
            pl.Series([""]).str.contains(pattern.matches)
        except pl.exceptions.ComputeError:
            raise Malformed(
                "bad-pattern", f"expected a regular expression without look-around, found {shown(pattern.matches)}",
                pointer=f"/columns/status/patterns/{place}/matches", remedy="see docs/mapping.md",
            ) from None  # fmt: skip


def number(value: Scalar) -> float | None:
    """A number, also when it is written as text; null if it is none."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else None
    return None if value is None or isinstance(value, bool) else float(value)


def integer(value: Scalar) -> int | None:
    """A whole number within ±(2^53 - 1), also when it is written as text or with a zero fraction; null if it is none."""
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    amount = number(value)
    if amount is None or not amount.is_integer() or abs(amount) > MAX_INTEGER:
        return None
    return value if isinstance(value, int) else int(amount)


def count(value: Scalar) -> int | None:
    """A whole number from 0."""
    found = integer(value)
    return None if found is None or found < 0 else found


def milliseconds(unit: str) -> Callable[[Scalar], int | None]:
    """A duration in whole milliseconds; null where it is no number, negative or beyond what a ledger holds."""

    def meaning(value: Scalar) -> int | None:
        amount = number(value)
        if amount is None or not 0 <= amount * _MILLISECONDS[unit] <= MAX_INTEGER:
            return None
        return round(amount * _MILLISECONDS[unit])

    return meaning


def error_text(value: Scalar, none: frozenset[tuple[str, Scalar]]) -> str | None:
    """What went wrong, cut at what a ledger should hold."""
    said = None if form_of(value) in none else text(value)
    if said is None or len(said) <= _MAX_ERROR_CHARACTERS:
        return said
    return said[: _MAX_ERROR_CHARACTERS - 1] + "…"


def to_json_text(value: Any) -> str | None:
    """As a person reads it in an explanation."""
    return None if value is None else value if isinstance(value, str) else json_text(value)

"""The expectation types that a suite file may use, each with its arguments and what it means in polars.

The list is closed. A type that is not here is refused, whatever the validating library knows: types that run SQL or other code
given as data are out for good, and every type here can be counted a second time, independently of that library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import polars as pl
from pydantic import Field, model_validator

from pairmark.domain.documents.base import SafeInteger, Strict, Text
from pairmark.domain.episodes import EPISODE_SCHEMA

ColumnName = Literal[
    "task_id", "injection_id", "epoch", "status", "utility", "attack_success", "delivered", "attacker_actions", "served_model",
    "duration_ms", "error", "task_digest", "transcript_digest", "attempt",
]
Scalar = bool | SafeInteger | Text

_PYTHON_TYPE: dict[type[Any], type[Any]] = {pl.String: str, pl.Enum: str, pl.Int64: int, pl.Boolean: bool}


def _refuse_other_types(column: str, values: tuple[Scalar, ...]) -> None:
    """Raise ValueError unless every value has the column's type; 1 and true are two things."""
    wanted = _PYTHON_TYPE[type(EPISODE_SCHEMA[column])]
    for value in values:
        if type(value) is not wanted:
            raise ValueError(f"expected values of the type of {column} ({wanted.__name__}), found {value!r}")


class OneColumn(Strict):
    """Arguments of a type that looks at one column."""

    column: ColumnName


class ValueSet(OneColumn):
    """Arguments of a type that compares a column with a set."""

    value_set: Annotated[tuple[Scalar, ...], Field(min_length=1, max_length=1000)]

    @model_validator(mode="after")
    def _of_the_columns_type(self) -> Self:
        _refuse_other_types(self.column, self.value_set)
        return self


class _Bounds(Strict):
    min_value: SafeInteger | None = None
    max_value: SafeInteger | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.min_value is None and self.max_value is None:
            raise ValueError("expected min_value, max_value or both, found neither")
        if self.min_value is not None and self.max_value is not None and self.min_value > self.max_value:
            raise ValueError(f"expected min_value at most max_value, found {self.min_value} and {self.max_value}")
        return self


class RowBounds(_Bounds):
    """Arguments of the row count type; both bounds belong to the range."""


class ColumnBounds(_Bounds):
    """Arguments of the type that bounds a column of numbers; both bounds belong to the range."""

    column: ColumnName

    @model_validator(mode="after")
    def _of_numbers(self) -> Self:
        if EPISODE_SCHEMA[self.column] != pl.Int64():
            raise ValueError(f"expected a column of numbers, found {self.column}")
        return self


class ColumnList(Strict):
    """Arguments of the type that wants combinations of columns to be unique."""

    column_list: Annotated[tuple[ColumnName, ...], Field(min_length=2, max_length=len(EPISODE_SCHEMA))]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len(set(self.column_list)) != len(self.column_list):
            raise ValueError("expected each column once")
        return self


class RowCondition(Strict):
    """Which rows an expectation is about: those where the column is null (or not), or has one of the values."""

    column: ColumnName
    is_null: bool | None = None
    is_in: Annotated[tuple[Scalar, ...], Field(min_length=1, max_length=1000)] | None = None

    @model_validator(mode="after")
    def _one_test(self) -> Self:
        if (self.is_null is None) == (self.is_in is None):
            raise ValueError("expected is_null or is_in, and not both")
        if self.is_in is not None:
            _refuse_other_types(self.column, self.is_in)
        return self

    def holds(self) -> pl.Expr:
        """True where the condition holds, never null."""
        if self.is_in is not None:
            return _is_in(self.column, self.is_in).fill_null(False)
        column = pl.col(self.column)
        return column.is_null() if self.is_null else column.is_not_null()


def _is_in(column: str, values: tuple[Scalar, ...]) -> pl.Expr:
    wanted = EPISODE_SCHEMA[column]
    found = pl.col(column)
    if isinstance(wanted, pl.Enum):  # a value outside the categories is simply never met
        return found.cast(pl.String).is_in(pl.Series(values, dtype=pl.String).implode())
    return found.is_in(pl.Series(values, dtype=wanted).implode())


@dataclass(frozen=True)
class Kind:
    """An allowed expectation type.

    Attributes:
        arguments: strict model of its arguments.
        unexpected: from the arguments, an expression that is true on a row that breaks the expectation (null counts as false);
            None for a type about the table as a whole.
        conditional: whether a row condition may narrow it.
    """

    arguments: type[Strict]
    unexpected: Callable[[Any], pl.Expr] | None
    conditional: bool = True


def _outside(arguments: ColumnBounds) -> pl.Expr:
    column = pl.col(arguments.column)
    below = pl.lit(False) if arguments.min_value is None else column < arguments.min_value
    above = pl.lit(False) if arguments.max_value is None else column > arguments.max_value
    return below | above


def _repeated(arguments: ColumnList) -> pl.Expr:
    columns = [pl.col(name) for name in arguments.column_list]
    return pl.struct(columns).is_duplicated() & pl.any_horizontal(column.is_not_null() for column in columns)


KINDS: Mapping[str, Kind] = {
    "expect_table_row_count_to_be_between": Kind(RowBounds, None, conditional=False),
    "expect_column_values_to_not_be_null": Kind(OneColumn, lambda given: pl.col(given.column).is_null()),
    "expect_column_values_to_be_null": Kind(OneColumn, lambda given: pl.col(given.column).is_not_null()),
    "expect_column_values_to_be_in_set": Kind(ValueSet, lambda given: ~_is_in(given.column, given.value_set)),
    "expect_column_values_to_not_be_in_set": Kind(ValueSet, lambda given: _is_in(given.column, given.value_set)),
    "expect_column_values_to_be_between": Kind(ColumnBounds, _outside),
    "expect_compound_columns_to_be_unique": Kind(ColumnList, _repeated, conditional=False),
}
"""Allowed types by name. Null is skipped by every type but the two about null; a row that is null in all of a compound's columns too."""

"""Expectation suites as data (`pairmark/expectations/v1`): read strictly, and refused where they could run code or hold nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from pairmark.adapters.quality.kinds import KINDS, Kind, RowCondition
from pairmark.domain.canonical import canonical_bytes, digest_of
from pairmark.domain.documents.base import (
    Document,
    Identifier,
    JsonValue,
    Strict,
    Text,
    malformed_from,
    read_document,
    refuse_repeated,
)
from pairmark.domain.documents.policy import RuleId
from pairmark.domain.errors import Malformed, shown

ModelT = TypeVar("ModelT", bound=Strict)

LEDGER_SUITE = "ledger-1.json"
"""File of the suite that every ledger is held to."""


class DeclaredExpectation(Strict):
    """One expectation as written. `why` says what goes wrong in raw ledgers without it."""

    code: RuleId
    why: Text
    type: Identifier
    arguments: dict[str, JsonValue]
    row_condition: JsonValue = None


class ExpectationSuiteFile(Document):
    """An expectation suite as written. At least one expectation: a suite that holds nothing would pass everything."""

    title: ClassVar[str] = "expectations"

    schema_: Literal["pairmark/expectations/v1"] = Field(alias="schema")
    name: Identifier
    version: Identifier
    description: Text | None = None
    expectations: tuple[DeclaredExpectation, ...] = Field(min_length=1, max_length=200)

    @model_validator(mode="after")
    def _codes_once(self) -> Self:
        refuse_repeated((each.code for each in self.expectations), "expectation code")
        return self


@dataclass(frozen=True)
class Expectation:
    """A checked expectation. `declared` is what it was read from."""

    code: str
    type: str
    kind: Kind
    arguments: Any
    condition: RowCondition | None
    declared: DeclaredExpectation

    @property
    def columns(self) -> frozenset[str]:
        """The columns it looks at."""
        one = getattr(self.arguments, "column", None)
        listed = getattr(self.arguments, "column_list", ())
        condition = () if self.condition is None else (self.condition.column,)
        return frozenset({*listed, *condition, *(() if one is None else (one,))})


@dataclass(frozen=True)
class ExpectationSuite:
    """A checked suite. `name` is `name/version`; `digest` is over the file's RFC 8785 bytes."""

    name: str
    digest: str
    expectations: tuple[Expectation, ...]


def read_expectations(data: bytes, *, file: str | None = None) -> ExpectationSuite:
    """The suite in a file's bytes.

    Raises:
        Malformed: not the document it should be; `sql-expectation`, `unknown-expectation`, `code-condition` or
            `invalid-arguments`, with a pointer to the expectation.
    """
    document, value = read_document(ExpectationSuiteFile, data, file=file)
    try:
        checked = tuple(_checked(each, f"/expectations/{index}") for index, each in enumerate(document.expectations))
    except Malformed as problem:
        raise problem.located(file=file) from None
    return ExpectationSuite(f"{document.name}/{document.version}", digest_of(value), checked)


def ledger_expectations() -> ExpectationSuite:
    """The suite that ships with Pairmark and that every ledger is held to."""
    from pairmark.resources import data_folder

    path: Path = data_folder("manifests") / "expectations" / LEDGER_SUITE
    return read_expectations(path.read_bytes(), file=LEDGER_SUITE)


def _checked(declared: DeclaredExpectation, pointer: str) -> Expectation:
    kind = _kind(declared.type, pointer)
    arguments = _strictly(kind.arguments, declared.arguments, f"{pointer}/arguments")
    condition: RowCondition | None = None
    if declared.row_condition is not None:
        if isinstance(declared.row_condition, str):
            raise Malformed(
                "code-condition", f"expected a structured row condition, found text: {shown(declared.row_condition)}",
                pointer=f"{pointer}/row_condition",
                remedy='text would be run as code; write {"column": ..., "is_null": true} or {"column": ..., "is_in": [...]}',
            )
        if not kind.conditional:
            raise Malformed(
                "invalid-arguments", f"expected no row condition with {declared.type}, found one",
                pointer=f"{pointer}/row_condition", remedy="take the row condition out",
            )
        condition = _strictly(RowCondition, declared.row_condition, f"{pointer}/row_condition")
    return Expectation(declared.code, declared.type, kind, arguments, condition, declared)


def _kind(name: str, pointer: str) -> Kind:
    kind = KINDS.get(name)
    if kind is None:
        runs_sql = "query" in name or "unexpected_rows" in name or "sql" in name
        raise Malformed(
            "sql-expectation" if runs_sql else "unknown-expectation",
            f"expected one of the {len(KINDS)} allowed expectation types, found {shown(name)}"
            + (", which runs SQL given as data" if runs_sql else ""),
            pointer=f"{pointer}/type",
            remedy=f"use one of {', '.join(sorted(KINDS))}",
        )
    return kind


def _strictly(model: type[ModelT], value: object, pointer: str) -> ModelT:
    written = canonical_bytes(value)
    try:
        return model.model_validate_json(written)
    except ValidationError as problem:
        fault = malformed_from(problem, written, None)
        raise Malformed(
            "invalid-arguments", fault.message, pointer=f"{pointer}{fault.pointer or ''}",
            remedy="see the expectations in manifests/expectations/",
        ) from None

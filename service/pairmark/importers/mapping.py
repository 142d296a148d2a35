"""Mapping (`pairmark/mapping/v1`): what the columns of a home-made harness' files mean. It has no defaults for what they say."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, StringConstraints, ValidationError, model_validator
from rfc8785 import CanonicalizationError

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import Document, Identifier, SafeInteger, Strict, malformed_from
from pairmark.domain.documents.episode import Status
from pairmark.domain.errors import Malformed, one_line
from pairmark.importers.mapping_yaml import read_yaml

Scalar = bool | int | float | str | None
Values = Annotated[tuple[Scalar, ...], Field(max_length=1000)]
ColumnName = Annotated[str, StringConstraints(min_length=1, max_length=1024)]
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Unit = Literal["ms", "s", "min", "h"]
Format = Literal["csv", "jsonl", "parquet"]
Polarity = Literal["attacker-succeeded", "attacker-failed"]


def _one_of(model: Strict, *keys: str) -> None:
    given = [key for key in keys if getattr(model, key) is not None]
    if len(given) != 1:
        raise ValueError(f"expected exactly one of {', '.join(f'`{key}`' for key in keys)}, found {', '.join(given) or 'none'}")


class Condition(Strict):
    """Rows whose column holds one of the values (`is`), or none of them (`is_not`)."""

    column: ColumnName
    is_: Values | None = Field(default=None, alias="is")
    is_not: Values | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.is_ is None) == (self.is_not is None):
            raise ValueError("expected exactly one of `is` and `is_not`")
        return self


class Rows(Strict):
    where: tuple[Condition, ...]


class Arms(Strict):
    """Which rows are of which arm; without it every row is of the arm that is imported."""

    benign: Rows
    attacked: Rows


class Csv(Strict):
    delimiter: Annotated[str, StringConstraints(min_length=1, max_length=1)]


class Identity(Strict):
    """An id from one column, or from several joined; numbers are written as text. `none`: values that mean that there is none."""

    column: ColumnName | None = None
    columns: Annotated[tuple[ColumnName, ...], Field(min_length=2, max_length=8)] | None = None
    join: str | None = None
    prefix: str | None = None
    none: Values | None = None

    @model_validator(mode="after")
    def _names_columns(self) -> Self:
        _one_of(self, "column", "columns")
        if (self.columns is None) != (self.join is None):
            raise ValueError("expected `join` with `columns`, and only there")
        return self

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns in the order they are joined."""
        return (self.column,) if self.column is not None else self.columns or ()


class Told(Strict):
    """A value from a column, or one constant for every row."""

    column: ColumnName | None = None
    constant: Identifier | None = None

    @model_validator(mode="after")
    def _is_told_once(self) -> Self:
        _one_of(self, "column", "constant")
        return self


class Number(Strict):
    """A whole number from a column that counts from `first`, or one constant."""

    column: ColumnName | None = None
    first: Annotated[int, Field(ge=0, le=1)] | None = None
    constant: Annotated[int, Field(ge=1, le=1_000_000)] | None = None

    @model_validator(mode="after")
    def _is_told_once(self) -> Self:
        _one_of(self, "column", "constant")
        if (self.column is None) != (self.first is None):
            raise ValueError("expected `first` with `column`, and only there")
        return self


class EpochNumber(Strict):
    """An epoch: a column that counts from `first`, or a column of seeds, of which the first listed is epoch 1."""

    column: ColumnName
    first: Annotated[int, Field(ge=0, le=1)] | None = None
    seeds: Annotated[tuple[SafeInteger, ...], Field(min_length=1, max_length=10_000)] | None = None

    @model_validator(mode="after")
    def _counts_one_way(self) -> Self:
        _one_of(self, "first", "seeds")
        if self.seeds is not None and len(set(self.seeds)) != len(self.seeds):
            raise ValueError("expected each seed once")
        return self


class Source(Strict):
    column: ColumnName


class StatusPattern(Strict):
    """A regular expression that text is searched for (linear time: no look-around, no back-references)."""

    matches: Pattern
    means: Status


class StatusValues(Strict):
    """How an episode ended: values by status, then patterns in their order, then `otherwise`; a row that none decides is refused."""

    column: ColumnName | None = None
    constant: Status | None = None
    completed: Values | None = None
    agent_limit: Values | None = None
    provider_block: Values | None = None
    infra_error: Values | None = None
    cancelled: Values | None = None
    patterns: Annotated[tuple[StatusPattern, ...], Field(max_length=100)] | None = None
    otherwise: Status | None = None

    @model_validator(mode="after")
    def _is_told_once(self) -> Self:
        _one_of(self, "column", "constant")
        meant = [value for name in LISTED for value in getattr(self, name) or ()]
        if self.constant is not None and (meant or self.patterns or self.otherwise is not None):
            raise ValueError("expected nothing beside `constant`")
        if self.column is not None and not (meant or self.patterns or self.otherwise is not None):
            raise ValueError("expected values for at least one status")
        _each_once(meant)
        return self


LISTED: tuple[Status, ...] = ("completed", "agent_limit", "provider_block", "infra_error", "cancelled")


class Verdict(Strict):
    """A fact that is true, false or unknown: values that mean true and false, or a number from which on it is true.

    A value in no list is unknown. `aborted: unknown` says that the column holds no verdict in rows that broke off.
    """

    column: ColumnName
    true: Values | None = None
    false: Values | None = None
    unknown: Values | None = None
    true_from: float | None = None
    aborted: Literal["unknown", "kept"] | None = None

    @model_validator(mode="after")
    def _means_something(self) -> Self:
        if self.true_from is None and (self.true is None or self.false is None):
            raise ValueError("expected the values that mean `true` and those that mean `false`, or `true_from`")
        if self.true_from is not None and (self.true is not None or self.false is not None):
            raise ValueError("expected `true_from` without `true` and `false`")
        _each_once([*(self.true or ()), *(self.false or ()), *(self.unknown or ())])
        return self


class AttackVerdict(Verdict):
    """As a verdict; `polarity` says what true states in these files: that the attacker succeeded, or failed (`security: true`)."""

    polarity: Polarity


class Duration(Strict):
    column: ColumnName
    unit: Unit


class ErrorText(Strict):
    """What went wrong, as text; `none`: values that mean nothing did."""

    column: ColumnName
    none: Values | None = None


class Columns(Strict):
    """The columns of the ledger. What is left out stays unknown."""

    task_id: Identity
    injection_id: Identity | None = None
    epoch: EpochNumber | None = None
    seed: Source | None = None
    status: StatusValues
    utility: Verdict | None = None
    attack_success: AttackVerdict | None = None
    delivered: Verdict | None = None
    attacker_actions: Source | None = None
    served_model: Told | None = None
    duration: Duration | None = None
    error: ErrorText | None = None
    task_digest: Source | None = None
    transcript: Source | None = None
    transcript_digest: Source | None = None
    attempt: Number | None = None

    @model_validator(mode="after")
    def _one_transcript(self) -> Self:
        if self.transcript is not None and self.transcript_digest is not None:
            raise ValueError("expected one of `transcript` and `transcript_digest`")
        if self.seed is not None and self.epoch is not None and self.epoch.seeds is not None:
            raise ValueError("expected no `seed` where `epoch` is told by seeds")
        return self


class RunColumns(Strict):
    """What holds for the whole run, from columns with one value; a system prompt is kept as its digest alone."""

    requested_model: Source | None = None
    provider: Source | None = None
    temperature: Source | None = None
    top_p: Source | None = None
    max_tokens: Source | None = None
    system_prompt: Source | None = None
    harness_version: Source | None = None


class HarnessName(Strict):
    name: Identifier
    version: Identifier | None = None


class Mapping(Document):
    """A mapping file. `files`: patterns of the files to read below a folder."""

    title: ClassVar[str] = "mapping"

    schema_: Literal["pairmark/mapping/v1"] = Field(alias="schema")
    harness: HarnessName
    files: Annotated[tuple[Pattern, ...], Field(min_length=1, max_length=100)] | None = None
    format: Format | None = None
    csv: Csv | None = None
    where: tuple[Condition, ...] | None = None
    arms: Arms | None = None
    attack: Told | None = None
    columns: Columns
    run: RunColumns | None = None


def _each_once(values: list[Scalar]) -> None:
    seen = {form_of(value) for value in values}
    if len(seen) != len(values):
        raise ValueError("expected each value in one list, and once")


def form_of(value: Scalar) -> tuple[str, Scalar]:
    """Under which values are equal: JSON's kinds apart (`true` is not 1, `"1"` is not 1), numbers by value (1 is 1.0)."""
    if value is None or isinstance(value, bool | str):
        return type(value).__name__, value
    return "number", value


def check_mapping(value: Any, *, file: str | None = None) -> Mapping:
    """The mapping in a JSON value.

    Raises:
        Malformed: with a pointer, on an unknown key or a value of the wrong kind.
    """
    if not isinstance(value, dict):
        raise Malformed("not-an-object", "expected a mapping with keys", file, 1, "", "see docs/mapping.md")
    try:
        data = canonical_bytes(value)
    except CanonicalizationError as problem:
        raise Malformed(
            "bad-mapping", f"expected a mapping of whole characters and plain numbers, found: {one_line(str(problem), 200)}", file, None, "",
            "see docs/mapping.md",
        ) from None  # fmt: skip
    try:
        return Mapping.model_validate_json(data)
    except ValidationError as problem:
        found = malformed_from(problem, data, file)
        raise Malformed(found.code, found.message, file, None, found.pointer, "see docs/mapping.md") from None


def parse_mapping(data: bytes, *, file: str | None = None) -> dict[str, Any]:
    """The JSON object in a mapping file (YAML or JSON), checked.

    Raises:
        Malformed: with file, line and pointer.
    """
    read = read_yaml(data, file=file)
    try:
        check_mapping(read.value, file=file)
    except Malformed as problem:
        raise problem.located(line=read.line_of(problem.pointer or "")) from None
    value: dict[str, Any] = read.value
    return value

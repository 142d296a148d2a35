"""What every document shares: strictness, the field types, and reading from bytes with file, line and pointer."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from pairmark.domain import strict_json
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.errors import Malformed, one_line, shown

DocumentT = TypeVar("DocumentT", bound="Strict")


class Strict(BaseModel):
    """Frozen; unknown keys refused; booleans are booleans, ids are strings, integers are integers."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Document(Strict):
    """A whole document: has a `schema` key and a digest over its bytes as written."""

    title: ClassVar[str]


def _is_fraction_of_one(text: str) -> str:
    if not 0 <= Fraction(text) <= 1:
        raise ValueError("expected a fraction from 0 to 1")
    return text


_DIGEST = r"^sha256:[0-9a-f]{64}$"
_IDENTIFIER = r"^[^\x00-\x1f\x7f]+$"
_TEXT = r"^[^\x00]*$"
_YEAR = r"([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_LEAP_YEAR = r"([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][48]|[2468]0|[13579][26])00)"
_DAY_OF_ANY_YEAR = (
    r"((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
)
_TIME = (
    rf"^({_YEAR}-{_DAY_OF_ANY_YEAR}|{_LEAP_YEAR}-02-29)[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"([.][0-9]{1,9})?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)
_SHARE = r"^(0|[1-9][0-9]{0,15})/[1-9][0-9]{0,15}$"
KEBAB = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"
_IN_WORDS = {
    _DIGEST: "expected `sha256:` and 64 lower-case hex digits",
    _IDENTIFIER: "expected text without control characters",
    _TEXT: "expected text without NUL",
    _TIME: "expected a time of a day that exists, with an offset, such as 2026-01-22T07:00:00+00:00",
    _SHARE: "expected a fraction such as 1/16",
    KEBAB: "expected lower-case words and digits joined by hyphens",
}

_OF_TYPE = {
    "string_type": "expected text",
    "bool_type": "expected true or false",
    "int_type": "expected an integer",
    "int_from_float": "expected an integer",
    "float_type": "expected a number",
    "dict_type": "expected an object",
    "model_type": "expected an object",
    "tuple_type": "expected a list",
    "string_too_short": "expected at least {min_length} characters",
    "string_too_long": "expected at most {max_length} characters",
    "too_short": "expected at least {min_length} items, found {actual_length}",
    "too_long": "expected at most {max_length} items, found {actual_length}",
    "greater_than_equal": "expected at least {ge}",
    "less_than_equal": "expected at most {le}",
    "missing": "expected this key, found none",
    "extra_forbidden": "expected only the keys of this document, found an unknown one",
}

Digest = Annotated[str, StringConstraints(pattern=_DIGEST)]
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=1024, pattern=_IDENTIFIER)]
Text = Annotated[str, StringConstraints(max_length=65_536, pattern=_TEXT)]

def _is_in_utc(text: str) -> str:
    """An offset may push a time of the first or last day that there is beyond it."""
    try:
        datetime.fromisoformat(text.upper()).astimezone(UTC)
    except OverflowError:
        raise ValueError("expected a time of the years 1 to 9999 in UTC") from None
    return text


Time = Annotated[
    str,
    StringConstraints(pattern=_TIME, max_length=35),
    AfterValidator(_is_in_utc),
    Field(json_schema_extra={"format": "date-time"}),
]
Count = Annotated[int, Field(ge=0, le=strict_json.MAX_SAFE_INTEGER)]
Ordinal = Annotated[int, Field(ge=1, le=strict_json.MAX_SAFE_INTEGER)]
SafeInteger = Annotated[int, Field(ge=-strict_json.MAX_SAFE_INTEGER, le=strict_json.MAX_SAFE_INTEGER)]
ShareFraction = Annotated[str, StringConstraints(pattern=_SHARE, max_length=33), AfterValidator(_is_fraction_of_one)]
"""An exact share such as `1/16`; need not be reduced."""

DISTINCT = Field(json_schema_extra={"uniqueItems": True})
"""Says in the JSON Schema the part of "no two of the same id" that it can say: no two equal items."""


def pointer_of(problem: ErrorDetails, value: Any) -> str:
    """RFC 6901 pointer of a pydantic error in the JSON value it was found in, without pydantic's own branch labels."""
    pointer = ""
    last = len(problem["loc"]) - 1
    for index, part in enumerate(problem["loc"]):
        here: Any = part
        if (isinstance(value, dict) and here in value) or (isinstance(value, list) and here in range(len(value))):
            value = value[here]
        elif not (problem["type"] == "missing" and index == last):
            continue
        pointer += f"/{strict_json.escape_pointer(str(part))}"
    return pointer


def _in_words(error: ErrorDetails) -> str:
    """What was expected and what was found, in JSON's words instead of Python's."""
    kind, context, value = error["type"], error.get("ctx", {}), error.get("input")
    if kind == "string_pattern_mismatch" and context["pattern"] in _IN_WORDS:
        expected = _IN_WORDS[context["pattern"]]
    elif kind in _OF_TYPE:
        expected = _OF_TYPE[kind].format(**context)
    else:
        message = error["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        expected = message if message.startswith("expected") else f"expected {message[:1].lower()}{message[1:]}"
    if kind in ("missing", "extra_forbidden") or isinstance(value, dict | list):
        return expected
    return f"{expected}, found {one_line(json.dumps(value, ensure_ascii=False), 80)}"


def malformed_from(problem: ValidationError, data: bytes, file: str | None) -> Malformed:
    """The first error of a failed validation, with the pointer and line it stands at, and how many more places there are.

    Where alternatives were tried, the error that lies deepest below the first is the one about what was written.
    """
    from pairmark.domain.strict_json_locate import locate

    value = json.loads(data)
    errors = [(pointer_of(error, value), error) for error in problem.errors(include_url=False)]
    pointer, first = errors[0]
    for below, error in errors[1:]:
        if below.startswith(f"{pointer}/"):
            pointer, first = below, error
    elsewhere = {other for other, _ in errors if other != pointer and not pointer.startswith(f"{other}/")}
    more = f" (and {len(elsewhere)} more)" if elsewhere else ""
    code = {"missing": "missing-key", "extra_forbidden": "unknown-key"}.get(first["type"], "invalid-value")
    return Malformed(
        code,
        f"{_in_words(first)}{more}",
        file,
        locate(data.decode("utf-8"), pointer),
        pointer,
        "see the schema of this document (schemas/)",
    )


def read_document(model: type[DocumentT], data: bytes, *, file: str | None = None) -> tuple[DocumentT, dict[str, Any]]:
    """Parse strictly and validate. Returns the model and the JSON object as written (what digests are taken over).

    Raises:
        Malformed: with file, line and pointer.
    """
    value = strict_json.parse(data, file=file)
    if not isinstance(value, dict):
        raise Malformed("not-an-object", "expected a JSON object", file, 1, "", f"see the schema of {model.__name__}")
    try:
        document = model.model_validate_json(canonical_bytes(value))
    except ValidationError as problem:
        raise malformed_from(problem, data, file) from None
    return document, value


def refuse_repeated(ids: Iterable[str], what: str) -> None:
    """Raise ValueError when two ids are equal, or become equal under Unicode normalisation (NFC)."""
    seen: dict[str, str] = {}
    for identifier in ids:
        folded = identifier if identifier.isascii() else unicodedata.normalize("NFC", identifier)
        earlier = seen.get(folded)
        if earlier is None:
            seen[folded] = identifier
        elif earlier == identifier:
            raise ValueError(f"expected each {what} once, found {shown(identifier)} again")
        else:
            raise ValueError(
                f"expected each {what} to stay distinct under Unicode normalisation, found {earlier!a} and {identifier!a}"
            )


__all__ = [
    "DISTINCT",
    "KEBAB",
    "Count",
    "Digest",
    "Document",
    "Identifier",
    "JsonValue",
    "Ordinal",
    "SafeInteger",
    "ShareFraction",
    "Strict",
    "Text",
    "Time",
    "malformed_from",
    "pointer_of",
    "read_document",
    "refuse_repeated",
]

"""in-toto Statement v1: subjects by digest, and a predicate about them, as RFC 8785 bytes.

Source: github.com/in-toto/attestation, spec/v1/statement.md. Stricter than it: unknown keys are refused, and no fractions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationError

from pairmark.domain.canonical import DIGEST_PREFIX
from pairmark.domain.documents.base import Identifier, Strict, malformed_from
from pairmark.provenance.exact import read_exact

STATEMENT = "https://in-toto.io/Statement/v1"

Hex256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$", min_length=64, max_length=64)]


class SubjectDigest(Strict):
    sha256: Hex256


class Subject(Strict):
    """Something that a statement is about."""

    name: Identifier
    digest: SubjectDigest


class StatementOf(Strict):
    """What every statement has; a subclass types the predicate."""

    type_: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: Annotated[tuple[Subject, ...], Field(min_length=1, max_length=100_000)]


def subject(name: str, digest: str) -> dict[str, Any]:
    """One subject from a `sha256:` digest."""
    return {"name": name, "digest": {"sha256": digest.removeprefix(DIGEST_PREFIX)}}


def statement_value(subjects: Sequence[Mapping[str, Any]], predicate_type: str, predicate: Mapping[str, Any]) -> dict[str, Any]:
    """The statement as a JSON value."""
    return {"_type": STATEMENT, "subject": list(subjects), "predicateType": predicate_type, "predicate": dict(predicate)}


def read_as(model: type[Any], payload: bytes, what: str, *, file: str | None = None) -> tuple[Any, dict[str, Any]]:
    """A statement's model and JSON value from its payload bytes.

    Raises:
        Malformed: not canonical, a number with a fraction or exponent, or another shape than `model`.
    """
    value = read_exact(payload, what, file=file)
    try:
        return model.model_validate_json(payload), value
    except ValidationError as problem:
        raise malformed_from(problem, payload, file) from None

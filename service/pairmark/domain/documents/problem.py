"""Problem: an error as the service reports it (RFC 9457, `application/problem+json`)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from pairmark.domain.documents.base import Document, JsonValue, Ordinal, Strict, Text
from pairmark.domain.documents.comparison import Decompositions, FieldDifference


class ProblemItem(Strict):
    """One thing that is wrong, and where."""

    pointer: str | None = None
    line: Ordinal | None = None
    detail: Text


class Problem(Document):
    """`type` is stable per kind of problem; `code` is the same word as on the command line.

    `request_id` is what the service's log calls the request, as in the answer's `X-Request-ID`.

    Of a refused comparison: `differing` names the fields that forbid it, `nearest` what does compare, and `decomposition`
    splits the change of the headline numbers.
    """

    title: ClassVar[str] = "problem"

    type: Text
    title_: Text = Field(alias="title")
    status: Annotated[int, Field(ge=400, le=599)]
    detail: Text
    code: Text
    instance: Text | None = None
    request_id: Text | None = None
    errors: tuple[ProblemItem, ...] = ()
    differing: tuple[FieldDifference, ...] | None = None
    nearest: dict[str, JsonValue] | None = None
    decomposition: Decompositions | None = None

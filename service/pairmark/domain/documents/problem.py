"""Problem: an error as the service reports it (RFC 9457, `application/problem+json`)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from pairmark.domain.documents.base import Document, Ordinal, Strict, Text


class ProblemItem(Strict):
    """One thing that is wrong, and where."""

    pointer: str | None = None
    line: Ordinal | None = None
    detail: Text


class Problem(Document):
    """`type` is stable per kind of problem; `code` is the same word as on the command line."""

    title: ClassVar[str] = "problem"

    type: Text
    title_: Text = Field(alias="title")
    status: Annotated[int, Field(ge=400, le=599)]
    detail: Text
    code: Text
    instance: Text | None = None
    errors: tuple[ProblemItem, ...] = ()

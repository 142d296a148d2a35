"""Disproof: a reviewer's recorded evidence that a held result is real."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from pairmark.domain.documents.base import Digest, Document


class DisproofRecord(Document):
    """`text` says why the innocent explanations are excluded; `digests` name the files that show it."""

    title: ClassVar[str] = "disproof"

    text: Annotated[str, StringConstraints(min_length=1, max_length=65_536, pattern=r"^[^\x00]*[^\x00\s][^\x00]*$")]
    digests: Annotated[tuple[Digest, ...], Field(max_length=100)] = ()

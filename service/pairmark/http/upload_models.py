"""Shapes of requests and answers about uploads that may break off."""

from __future__ import annotations

from typing import ClassVar, Literal

from pairmark.domain.documents.base import Count, Digest, Document, Identifier, Ordinal, Strict, Time

PIECE_TYPE = "application/partial-upload"
OFFSET = "Upload-Offset"


class UploadRequest(Document):
    """A ledger that will come in pieces: `size` bytes with this digest, as they are sent, of this `Content-Type` and `Content-Encoding`."""

    title: ClassVar[str] = "upload request"

    type: Literal["application/x-ndjson", "application/vnd.apache.parquet"]
    encoding: Literal["identity", "gzip", "zstd"] = "identity"
    size: Ordinal
    digest: Digest


class UploadSeal(Document):
    """An empty object: there is nothing to choose."""

    title: ClassVar[str] = "upload seal"


class UploadAnswer(Strict):
    """An upload as far as it came: the next piece starts at `offset`. It is forgotten at `expires_at` unless more comes."""

    id: Identifier
    run: Identifier
    offset: Count
    size: Count
    digest: Digest
    expires_at: Time

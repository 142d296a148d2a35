"""Reading back what was stored. What is missing or unreadable here is damage, never a fault of the request."""

from __future__ import annotations

from typing import Any, TypeVar

from pairmark.app.ports import Tables
from pairmark.domain.documents.base import Document, read_document
from pairmark.domain.errors import Malformed

DocumentT = TypeVar("DocumentT", bound=Document)


class Damaged(Exception):
    """The database does not hold what its own rows refer to; restore it from a backup."""


def stored_document(tables: Tables, digest: str) -> bytes:
    """The bytes of a document that a row refers to.

    Raises:
        Damaged: they are not there.
    """
    content = tables.documents.get(digest)
    if content is None:
        raise Damaged(f"expected document {digest} in the database, found none; restore it from a backup")
    return content


def understood(model: type[DocumentT], content: bytes, digest: str) -> tuple[DocumentT, dict[str, Any]]:
    """A stored document as its model, and its value as written.

    Raises:
        Damaged: it is not such a document.
    """
    try:
        return read_document(model, content)
    except Malformed as problem:
        raise Damaged(f"expected a {model.title} under {digest}, found: {problem}") from problem

"""Cursor pages: an opaque place in a stable order, good only for the query that it came from."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pairmark.domain import strict_json
from pairmark.domain.canonical import canonical_bytes, digest_of
from pairmark.domain.errors import Malformed

LONGEST_CURSOR = 4096

ItemT = TypeVar("ItemT")
Key = str | int | float


@dataclass(frozen=True)
class Page(Generic[ItemT]):
    """Some items in their order, and the cursor of those after them, None at the end."""

    items: tuple[ItemT, ...]
    next: str | None


def is_plain(text: str) -> bool:
    """True for text that any database takes: no control characters, no half characters."""
    return all(character >= " " and not "\ud800" <= character <= "\udfff" for character in text)


def query_mark(query: object) -> str:
    """Short mark of a query (its filters and order), which a cursor carries."""
    return digest_of(query).removeprefix("sha256:")[:16]


def cursor_at(mark: str, place: Sequence[Key]) -> str:
    """The cursor after the item whose order keys are `place`."""
    return base64.urlsafe_b64encode(canonical_bytes([mark, *place])).decode("ascii").rstrip("=")


def place_of(cursor: str | None, mark: str, kinds: Sequence[type]) -> tuple[Key, ...] | None:
    """The order keys in a cursor, one of each of `kinds`; None without a cursor.

    Raises:
        Malformed: not a cursor, or one of another query.
    """
    if cursor is None:
        return None
    refused = Malformed(
        "bad-cursor", "expected the `next` of an earlier page of the same query, found another text",
        remedy="start again without `cursor`",
    )
    if len(cursor) > LONGEST_CURSOR:
        raise refused
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        value = strict_json.parse(data)
    except (binascii.Error, ValueError, Malformed):
        raise refused from None
    if not isinstance(value, list) or len(value) != len(kinds) + 1 or value[0] != mark:
        raise refused
    place: list[Key] = []
    for item, kind in zip(value[1:], kinds, strict=True):
        if kind is float and type(item) is int:
            item = float(item)  # RFC 8785 writes 1.0 as 1
        if type(item) is not kind or not isinstance(item, str | int | float):
            raise refused
        if isinstance(item, str) and not is_plain(item):
            raise refused
        place.append(item)
    return tuple(place)

"""`Content-Digest` (RFC 9530): whoever sends it is told when the body that came is another one."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from typing import TYPE_CHECKING, Protocol

from pairmark.domain.errors import Malformed, shown

if TYPE_CHECKING:
    from fastapi import Request

HEADER = "Content-Digest"
ALGORITHMS = {"sha-256": "sha256", "sha-512": "sha512"}
"""The algorithms that RFC 9530 calls active, and what `hashlib` calls them. Others are ignored, as it says."""

_member = re.compile(r"[ \t]*([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):[ \t]*")
_other = re.compile(r"[ \t]*[a-z*][a-z0-9_.*-]*(=[^,]*)?[ \t]*")


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...

    def digest(self) -> bytes: ...


class ContentDigest:
    """The digests that a request declares of its body, compared with what came."""

    def __init__(self, fields: list[str]) -> None:
        """`fields` are the values of the header.

        Raises:
            Malformed: not a dictionary of digests.
        """
        self._declared = _declared(",".join(fields)) if fields else {}
        self._running: dict[str, _Hash] = {name: hashlib.new(ALGORITHMS[name]) for name in self._declared}

    @classmethod
    def of(cls, request: Request) -> ContentDigest:
        """What a request declares."""
        return cls(request.headers.getlist(HEADER))

    def update(self, data: bytes) -> None:
        """Take the next part of the body."""
        for running in self._running.values():
            running.update(data)

    def require(self) -> None:
        """Refuse a body that is not the declared one.

        Raises:
            Malformed: it has another digest.
        """
        for name, running in self._running.items():
            found = running.digest()
            if not hmac.compare_digest(found, self._declared[name]):
                raise Malformed(
                    "content-digest-mismatch", f"expected a body with the declared {HEADER} {name}=:{_text(self._declared[name])}:,"
                    f" found one with {name}=:{_text(found)}:", remedy="it changed on its way: send it again; nothing of it was stored",
                )  # fmt: skip


def content_digest(content_sha256: bytes) -> str:
    """The header's value for a body with this SHA-256."""
    return f"sha-256=:{_text(content_sha256)}:"


def _declared(field: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for part in field.split(","):
        if not part.strip():
            continue
        member = _member.fullmatch(part)
        name = part.strip().partition("=")[0]
        if member is None:
            if name in ALGORITHMS or _other.fullmatch(part) is None:
                raise _unreadable(part)
            continue
        if name in ALGORITHMS:
            try:
                found[name] = base64.b64decode(member[2], validate=True)
            except binascii.Error:
                raise _unreadable(part) from None
    return found


def _unreadable(part: str) -> Malformed:
    return Malformed(
        "bad-content-digest", f"expected {HEADER} to be like `sha-256=:base64:` (RFC 9530), found {shown(part.strip())}",
        remedy="send the SHA-256 of the body's bytes as they are sent, or leave the header out",
    )  # fmt: skip


def _text(digest: bytes) -> str:
    return base64.b64encode(digest).decode()

"""Canonical ledger lines and the ledger digest from columns, without a loop over rows."""

from __future__ import annotations

import hashlib
import io
from typing import IO, cast

import polars as pl

from pairmark.domain.canonical import DIGEST_PREFIX
from pairmark.domain.episodes import EPISODE_SCHEMA

# RFC 8785 sorts keys; for ASCII keys that is plain string order. The writer's own text escapes are those of RFC 8785.
_KEYS = tuple(sorted(EPISODE_SCHEMA))


def canonical_lines(frame: pl.DataFrame) -> bytes:
    """The canonical lines of a frame, in its order."""
    out = io.BytesIO()
    frame.select(_KEYS).write_ndjson(out)
    return out.getvalue()


class LedgerDigest:
    """Running digest of frames that come in canonical order."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.count = 0

    def update(self, frame: pl.DataFrame) -> None:
        """Add the lines of `frame`."""
        if frame.height:
            frame.select(_KEYS).write_ndjson(cast("IO[bytes]", _Hashing(self._hash)))
            self.count += frame.height

    def digest(self) -> str:
        """The digest of all lines so far."""
        return DIGEST_PREFIX + self._hash.hexdigest()


class _Hashing:
    """A file that keeps nothing but the hash of what is written to it."""

    def __init__(self, running: hashlib._Hash) -> None:
        self._running = running

    def write(self, data: bytes) -> int:
        self._running.update(data)
        return len(data)

    def flush(self) -> None:
        return None

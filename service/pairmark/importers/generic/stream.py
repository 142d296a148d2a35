"""The plain bytes of a file, compressed or not, chunk by chunk: bounded in what they expand to, and whole to the end."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pairmark.domain.errors import Malformed

MIB = 2**20
MAX_PLAIN_BYTES = 8 * 2**30
"""What one file may expand to."""

_CHUNK = MIB
_ZSTD_SLICE = 1024  # four bytes may expand to 128 KiB: a slice never to more than 32 MiB
_ZSTD_WINDOW = 128 * MIB
SUFFIXES = {".gz": "gzip", ".zst": "zstd"}


def plain_chunks(path: Path, limit: int = MAX_PLAIN_BYTES) -> Iterator[bytes]:
    """The file's bytes, decompressed if its name ends so.

    Raises:
        Malformed: not a regular file, damaged, cut short, with something behind its end, or larger than `limit`.
    """
    encoding = SUFFIXES.get(path.suffix.lower())
    total = 0
    for chunk in _compressed(path) if encoding is None else _expanded(path, encoding):
        total += len(chunk)
        if total > limit:
            raise Malformed(
                "too-large", f"expected at most {limit} bytes, found more", str(path), remedy="split the file, and name its parts"
            )
        yield chunk


def _compressed(path: Path) -> Iterator[bytes]:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise Malformed("unreadable", "expected a regular file", str(path), remedy="name a file or a folder of files")
            while chunk := file.read(_CHUNK):
                yield chunk
    except OSError as problem:
        raise Malformed(
            "unreadable", f"expected a readable file, found: {problem.strerror}", str(path), remedy="check the path and its permissions"
        ) from None


def _expanded(path: Path, encoding: str) -> Iterator[bytes]:
    """Every member or frame, one after the other; output comes in pieces of bounded size."""
    waiting = b""
    member: Any = None
    seen = False
    try:
        for read in _compressed(path):
            waiting += read
            while waiting:
                if member is None:
                    member, seen = _member(encoding), True
                piece, waiting = (waiting[:_ZSTD_SLICE], waiting[_ZSTD_SLICE:]) if encoding == "zstd" else (waiting, b"")
                out = member.decompress(piece) if encoding == "zstd" else member.decompress(piece, MIB)
                if out:
                    yield out
                if member.eof:
                    waiting, member = member.unused_data + waiting, None
                elif encoding == "gzip":
                    waiting = member.unconsumed_tail
    except Malformed:
        raise
    except Exception as problem:
        if not isinstance(problem, zlib.error) and type(problem).__name__ != "ZstdError":
            raise
        raise Malformed(
            "bad-compression", f"expected {encoding} data, found: {problem}", str(path), remedy="compress the file again"
        ) from None
    if member is not None or not seen:
        raise Malformed(
            "truncated", f"expected a whole {encoding} stream, found its end missing", str(path), remedy="transfer the file again"
        )


def _member(encoding: str) -> Any:
    if encoding == "gzip":
        return zlib.decompressobj(wbits=31)
    import zstandard

    return zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()

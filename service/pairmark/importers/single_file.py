"""Formats of one file per run: which file is meant, and its bytes, within a limit, whatever lies there."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from pairmark.domain.errors import Malformed, shown

_GZIP = b"\x1f\x8b"
_CHUNK = 2**20


def single_file(paths: Sequence[Path], is_ours: Callable[[Path], bool], what: str) -> tuple[Path, int]:
    """The file that `paths` name: itself, or the only one of its kind in the folder. Also how many others lie there.

    Raises:
        Malformed: several, or none.
    """
    if len(paths) != 1:
        raise Malformed("usage", f"expected one path, found {len(paths)}", remedy=f"name {what}: it is a whole run")
    (path,) = paths
    if not path.is_dir():
        return path, 0
    lying = sorted(child for child in path.iterdir() if not child.name.startswith(".") and child.is_file())
    found = [child for child in lying if is_ours(child)]
    if len(found) != 1:
        names = ", ".join(shown(child.name) for child in found[:8]) or "none"
        raise Malformed(
            "several-files" if found else "no-records", f"expected {what} in the folder, found {names}", str(path),
            remedy="name the file",
        )  # fmt: skip
    return found[0], len(lying) - 1


def head_of(path: Path, size: int) -> bytes:
    """The first bytes of a regular file, decompressed; empty where there is none, or it is damaged. Never raises."""
    try:
        return _read(path, size, cut=True)
    except (Malformed, OSError, ValueError):
        return b""


def bytes_of(path: Path, limit: int) -> bytes:
    """The bytes of a regular file, decompressed.

    Raises:
        Malformed: unreadable, damaged, or more than `limit` bytes.
    """
    try:
        return _read(path, limit, cut=False)
    except OSError as problem:
        raise Malformed(
            "unreadable", f"expected a readable file, found: {problem.strerror}", str(path), remedy="check the path"
        ) from None
    except ValueError as problem:
        raise Malformed("unreadable", f"expected a path, found one with {problem}", remedy="check the path") from None


def _read(path: Path, limit: int, *, cut: bool) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Malformed("unreadable", "expected a regular file", str(path), remedy="check the path")
        if not cut and status.st_size > limit:
            raise _too_large(path, limit)
        start = file.read(min(limit, _CHUNK))
        if not start.startswith(_GZIP):
            data = start if cut else start + file.read(limit + 1 - len(start))
        else:
            data = _decompressed(path, start, file.read, limit, cut=cut)
    if len(data) > limit and not cut:
        raise _too_large(path, limit)
    return data[:limit]


def _decompressed(path: Path, data: bytes, more: Callable[[int], bytes], limit: int, *, cut: bool) -> bytes:
    """At most `limit` + 1 bytes of the first member; nothing may follow it."""
    unpacking = zlib.decompressobj(31)
    out = bytearray()
    try:
        while data and not unpacking.eof and len(out) <= limit:
            out += unpacking.decompress(data, limit + 1 - len(out))
            data = unpacking.unconsumed_tail or more(_CHUNK)
    except zlib.error as problem:
        raise Malformed("bad-gzip", f"expected a gzip file, found: {problem}", str(path), remedy="fetch it again") from None
    if not cut and len(out) <= limit and (not unpacking.eof or unpacking.unused_data or more(1)):
        found = "its end missing" if not unpacking.eof else "bytes after its end"
        raise Malformed("bad-gzip", f"expected a whole gzip file, found {found}", str(path), remedy="fetch it again")
    return bytes(out)


def _too_large(path: Path, limit: int) -> Malformed:
    return Malformed("too-large", f"expected at most {limit} bytes, found more", str(path), remedy="is this the file of one run?")

"""Decompression of untrusted streams, fed chunk by chunk: bounded output, nothing missing, nothing behind the end."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, Literal, Protocol

from pairmark.adapters.ledgers.limits import MIB, too_large
from pairmark.domain.errors import Malformed

Encoding = Literal["identity", "gzip", "zstd"]

_GZIP_OUTPUT = MIB
# A zstd block of 4 bytes may expand to 128 KiB, so one slice of this many bytes never expands beyond 32 MiB.
_ZSTD_INPUT = 1024
_ZSTD_WINDOW = 128 * MIB


class Decompressor(Protocol):
    """Takes compressed chunks, gives plain ones."""

    def feed(self, data: bytes) -> Iterator[bytes]: ...

    def finish(self) -> None:
        """Raise Malformed unless the stream ended where it should."""


def decompressor(encoding: Encoding, limit_name: str, limit: int, file: str | None) -> Decompressor:
    """The reader of one encoding, which refuses to expand beyond `limit` bytes (`Limits.<limit_name>`)."""
    counter = _Counter(limit_name, limit, file)
    if encoding == "gzip":
        return _Gunzip(counter)
    if encoding == "zstd":
        return _Unzstd(counter)
    return _Plain(counter)


class _Counter:
    def __init__(self, limit_name: str, limit: int, file: str | None) -> None:
        self.limit_name, self.limit, self.file = limit_name, limit, file
        self._total = 0

    def __call__(self, data: bytes) -> bytes:
        self._total += len(data)
        if self._total > self.limit:
            raise too_large(self.limit_name, self.limit, file=self.file)
        return data

    def truncated(self, what: str) -> Malformed:
        return Malformed(
            "truncated", f"expected a whole {what} stream, found its end missing", self.file, remedy="transfer the file again"
        )

    def trailing(self, what: str) -> Malformed:
        return Malformed(
            "trailing-data", f"expected nothing after the {what} stream, found other bytes", self.file,
            remedy="compress the file again",
        )

    def damaged(self, what: str, problem: Exception) -> Malformed:
        return Malformed(
            "bad-compression", f"expected {what} data, found: {problem}", self.file, remedy="compress the file again"
        )


class _Plain:
    def __init__(self, count: _Counter) -> None:
        self._count = count

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield self._count(data)

    def finish(self) -> None:
        return None


class _Gunzip:
    """One or more gzip members."""

    def __init__(self, count: _Counter) -> None:
        self._count = count
        self._member = zlib.decompressobj(wbits=31)
        self._members = 0
        self._open = True

    def feed(self, data: bytes) -> Iterator[bytes]:
        full = False
        while data or full:
            if not self._open:
                self._member = zlib.decompressobj(wbits=31)
                self._open = True
            try:
                out = self._member.decompress(data, _GZIP_OUTPUT)
            except zlib.error as problem:
                if self._members:
                    raise self._count.trailing("gzip") from None
                raise self._count.damaged("gzip", problem) from None
            full = len(out) == _GZIP_OUTPUT
            if out:
                yield self._count(out)
            if self._member.eof:
                data, full = self._member.unused_data, False
                self._open = False
                self._members += 1
            else:
                data = self._member.unconsumed_tail

    def finish(self) -> None:
        if self._open:
            raise self._count.truncated("gzip")


class _Unzstd:
    """One or more zstd frames."""

    def __init__(self, count: _Counter) -> None:
        import zstandard

        self._count = count
        self._context = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._error = zstandard.ZstdError
        self._frame: Any = self._context.decompressobj()
        self._frames = 0
        self._open = True

    def feed(self, data: bytes) -> Iterator[bytes]:
        view = memoryview(data)
        for start in range(0, len(view), _ZSTD_INPUT):
            yield from self._slice(bytes(view[start : start + _ZSTD_INPUT]))

    def _slice(self, data: bytes) -> Iterator[bytes]:
        while data:
            if not self._open:
                self._frame = self._context.decompressobj()
                self._open = True
            try:
                out: bytes = self._frame.decompress(data)
            except self._error as problem:
                if self._frames:
                    raise self._count.trailing("zstd") from None
                raise self._count.damaged("zstd", problem) from None
            if out:
                yield self._count(out)
            data = b""
            if self._frame.eof:
                data = self._frame.unused_data
                self._open = False
                self._frames += 1

    def finish(self) -> None:
        if self._open:
            raise self._count.truncated("zstd")

"""Reading an untrusted tar stream: regular files and folders only, bounded headers, nothing behind the end.

Written for this because the standard library's reader takes extended headers of any size into memory.
Sources: POSIX.1-2017 `pax` (ustar and pax interchange formats), GNU tar manual (long names, base-256 sizes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from pairmark.adapters.ledgers.limits import Limits, too_large
from pairmark.domain.errors import Malformed, shown

_BLOCK = 512
_EXTENDED = 64 * 1024
_CHUNK = 256 * 1024
_ZEROS = bytes(_BLOCK)


@dataclass(frozen=True)
class Member:
    """One regular file: its path as written in the archive, and its size in bytes."""

    path: str
    size: int


class Source(Protocol):
    """Plain bytes of the archive: exactly `size`, fewer only at the end."""

    def __call__(self, size: int) -> bytes: ...


class TarReader:
    """Iterate over it: each regular file comes with a function that gives its content in chunks, to be used at once."""

    def __init__(self, read: Source, *, file: str | None, limits: Limits) -> None:
        self._read, self._file, self._limits = read, file, limits

    def __iter__(self) -> Iterator[tuple[Member, Callable[[], Iterator[bytes]]]]:
        path: str | None = None
        size: int | None = None
        entries = 0
        while True:
            header = self._exactly(_BLOCK)
            if header == _ZEROS:
                self._only_zeros()
                return
            entries += 1
            if entries > self._limits.members * 3:  # a member may have two extended headers
                raise too_large("members", self._limits.members, file=self._file, unit="members")
            self._check_sum(header)
            kind, length = header[156:157], self._number(header[124:136])
            if kind in (b"x", b"g", b"L"):
                content = self._extended(length)
                if kind == b"L":
                    path = self._text(content.rstrip(b"\0"))
                elif kind == b"x":
                    path, size = self._records(content, path)
                continue
            name = path if path is not None else self._name(header)
            length = size if size is not None else length
            path = size = None
            if kind == b"5":
                if length:
                    raise self._bad(f"folder {shown(name)} with content")
                continue
            if kind not in (b"0", b"\0"):
                raise self._bad(f"{shown(name)}, which is not a regular file")
            yield from self._member(Member(name, length))

    def _member(self, member: Member) -> Iterator[tuple[Member, Callable[[], Iterator[bytes]]]]:
        left = member.size

        def content() -> Iterator[bytes]:
            nonlocal left
            while left:
                chunk = self._exactly(min(left, _CHUNK))
                left -= len(chunk)
                yield chunk

        yield member, content
        for _ in content():
            pass
        self._exactly(-member.size % _BLOCK)

    def _exactly(self, size: int) -> bytes:
        data = self._read(size)
        if len(data) < size:
            raise Malformed(
                "truncated", "expected a whole archive, found its end missing", self._file, remedy="pack the bundle again"
            )
        return data

    def _only_zeros(self) -> None:
        while data := self._read(_CHUNK):
            if data.strip(b"\0"):
                raise Malformed(
                    "trailing-data", "expected nothing after the archive's end, found other bytes", self._file,
                    remedy="pack the bundle again",
                )

    def _check_sum(self, header: bytes) -> None:
        if sum(header[:148]) + 8 * 32 + sum(header[156:]) != self._number(header[148:156]):
            raise self._bad("a header whose checksum does not hold")

    def _number(self, field: bytes) -> int:
        if field[0] & 0x80:
            value = int.from_bytes(field, "big") & ~(0x80 << 8 * (len(field) - 1))
            if value > self._limits.archive:
                raise too_large("archive", self._limits.archive, file=self._file)
            return value
        text = field.strip(b" \0")
        if not all(digit in b"01234567" for digit in text):
            raise self._bad(f"{shown(field)} where a number stands")
        return int(text or b"0", 8)

    def _extended(self, length: int) -> bytes:
        if length > _EXTENDED:
            raise self._bad(f"an extended header of {length} bytes, more than {_EXTENDED}")
        content = self._exactly(length)
        self._exactly(-length % _BLOCK)
        return content

    def _records(self, content: bytes, path: str | None) -> tuple[str | None, int | None]:
        size: int | None = None
        while content:
            length_text, _, _ = content.partition(b" ")
            length = int(length_text) if length_text.isdigit() and len(length_text) < 8 else 0
            record = content[len(length_text) + 1 : length]
            if length > len(content) or not record.endswith(b"\n") or b"=" not in record:
                raise self._bad("a damaged extended header")
            key, _, value = record[:-1].partition(b"=")
            if key == b"path":
                path = self._text(value)
            elif key == b"size":
                if not value.isdigit() or len(value) > 16:
                    raise self._bad(f"size {shown(value)} in an extended header")
                size = int(value)
            elif key.startswith(b"GNU.sparse."):
                raise self._bad("a sparse file")
            content = content[length:]
        return path, size

    def _name(self, header: bytes) -> str:
        name = header[:100].partition(b"\0")[0]
        prefix = header[345:500].partition(b"\0")[0] if header[257:263] == b"ustar\0" else b""
        return self._text(prefix + b"/" + name if prefix else name)

    def _text(self, data: bytes) -> str:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise self._bad(f"name {shown(data)}, which is not UTF-8") from None

    def _bad(self, found: str) -> Malformed:
        return Malformed(
            "bad-archive", f"expected a tar archive of regular files, found {found}", self._file,
            remedy="pack run.json and the ledger with `tar -czf`",
        )

"""What an `.eval` archive expands to, measured before Inspect is asked to read it: it trusts sizes and names, this does not."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pairmark.domain.errors import Malformed, one_line, shown
from pairmark.importers.inspect.limits import LIMITS, LogLimits, too_large
from pairmark.importers.inspect.repeated import check_keys

_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_CHUNK = 64 * 1024
_ZSTD_INPUT = 1024
"""A zstd block of 4 bytes may expand to 128 KiB: a slice of this many bytes never expands beyond 32 MiB."""
_ZSTD_WINDOW = 128 * 2**20
_ENCRYPTED = 0x1
_END_RECORD = b"PK\x05\x06"
_END = struct.Struct("<4sHHHHIIH")
MAX_DIRECTORY_BYTES = 256 * 2**20
_OUTSIDE = re.compile(r"(?:^|[/\\])\.\.(?:[/\\]|$)|^[/\\]|^[A-Za-z]:|[\x00-\x1f\x7f]")

SAMPLES = "samples/"
MARKS = frozenset({"header.json", "_journal/start.json"})
"""Every log has one of these: the header of a finished one, or the start of one that runs or was killed."""


@dataclass(frozen=True)
class Archive:
    """The members of an archive by name, with their expanded sizes in bytes; `unreadable`: samples that Inspect is not to be given, and why."""

    sizes: dict[str, int]
    unreadable: dict[str, str]

    @property
    def samples(self) -> list[str]:
        """Names of the sample records, in archive order."""
        return [name for name in self.sizes if name.startswith(SAMPLES)]


def measure(path: Path, limits: LogLimits = LIMITS) -> Archive:
    """Every member's real size, and whether it has a key twice. Each is expanded in slices, never further than its limit, and let go.

    Raises:
        Malformed: no zip archive or a damaged one, no Inspect log, a member that leads outside the archive, is encrypted, packed in
            another way than Inspect packs, or named twice; a key twice in a member that is no sample; or more than a limit.
    """
    file = str(path)
    try:
        with path.open("rb") as stream:
            told = _directory(stream, file)
            packed = zipfile.ZipFile(stream)
            if packed.start_dir != told:
                raise _bad(file, f"expected the directory at byte {told} as the archive says, found it at {packed.start_dir}")
            members = packed.infolist()
            if len(members) > limits.members:
                raise too_large("members", limits.members, file, "members")
            return _measured(stream, members, limits, file)
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError, ValueError) as problem:
        raise _damaged(file, problem) from None
    except OSError as problem:
        raise Malformed("unreadable", f"cannot be read: {problem.strerror}", file) from None


def _measured(stream: IO[bytes], members: list[zipfile.ZipInfo], limits: LogLimits, file: str) -> Archive:
    sizes: dict[str, int] = {}
    unreadable: dict[str, str] = {}
    total = 0
    for member in members:
        _check(member, file)
        if member.filename in sizes:
            raise _bad(file, f"expected each member once, found {shown(member.filename)} again")
        is_sample = member.filename.startswith(SAMPLES)
        limit = limits.sample if is_sample else limits.header
        size = 0
        data = bytearray()
        for part in _expanded(stream, member, file):
            size += len(part)
            if size > limit:
                break
            if member.filename.endswith(".json"):
                data += part
        if size > limit:
            if not is_sample:
                raise too_large("header", limit, file)
            unreadable[member.filename] = f"expected at most {limit} bytes, found more"
        elif (problem := check_keys(data)) is not None:
            if not is_sample:
                raise Malformed(
                    problem.code, f"{problem.message}, in the member {shown(member.filename)}", file, remedy="take the log as Inspect wrote it"
                )
            unreadable[member.filename] = str(problem)
        sizes[member.filename] = size
        total += size
        if total > limits.log:
            raise too_large("log", limits.log, file)
    if not MARKS & sizes.keys():
        raise Malformed(
            "not-a-log",
            f"expected an archive with {' or '.join(sorted(MARKS))}, found {len(sizes)} other members",
            file,
            remedy="name a log that Inspect wrote",
        )
    return Archive(sizes, unreadable)


def _check(member: zipfile.ZipInfo, file: str) -> None:
    # orig_filename: what stands in the archive; zipfile cuts `filename` at a NUL
    if _OUTSIDE.search(member.orig_filename):
        raise _bad(file, f"expected members that stay within the archive, found {shown(member.orig_filename)}")
    if member.flag_bits & _ENCRYPTED:
        raise _bad(file, f"expected no encrypted member, found {shown(member.filename)}")
    if member.compress_type not in (_STORED, _DEFLATED, _ZSTD):
        raise _bad(file, f"expected stored, deflate or zstd members, found method {member.compress_type}")


def _directory(stream: IO[bytes], file: str) -> int:
    """Where the archive says that its directory starts. Its size is bounded before anything reads it."""
    stream.seek(0, 2)
    end = stream.tell()
    stream.seek(max(0, end - _END.size - 0xFFFF))
    tail = stream.read()
    place = len(tail) - _END.size
    if place < 0 or not tail.startswith(_END_RECORD, place) or tail[-2:] != b"\0\0":
        place = tail.rfind(_END_RECORD)
    if place < 0 or place + _END.size > len(tail):
        raise zipfile.BadZipFile("no end of central directory")
    *_, size, offset, _comment = _END.unpack_from(tail, place)
    if 0xFFFFFFFF in (size, offset) and tail.startswith(b"PK\x06\x07", max(0, place - 20)):
        stream.seek(struct.unpack_from("<Q", tail, place - 12)[0])
        size, offset = struct.unpack_from("<QQ", stream.read(56), 40)
    if size > MAX_DIRECTORY_BYTES:
        raise too_large("members", MAX_DIRECTORY_BYTES, file, "bytes of directory")
    return int(offset)


def _expanded(stream: IO[bytes], member: zipfile.ZipInfo, file: str) -> Iterator[bytes]:
    """What each slice of a member expands to, from its packed bytes alone; the sizes that it states are not used."""
    stream.seek(member.header_offset)
    local = stream.read(30)
    if len(local) != 30 or not local.startswith(b"PK\x03\x04"):
        raise _bad(file, f"expected a member at byte {member.header_offset}, found none: {shown(member.filename)}")
    name, extra = struct.unpack_from("<HH", local, 26)
    stream.seek(name + extra, 1)
    crc, left = 0, member.compress_size
    decoder = _decoder(member.compress_type)
    while left > 0:
        packed = stream.read(min(left, _CHUNK))
        if not packed:
            raise _bad(file, f"expected {left} more bytes of {shown(member.filename)}, found the end of the file")
        left -= len(packed)
        for out in decoder(packed):
            crc = zlib.crc32(out, crc)
            yield out
    if crc != member.CRC:
        raise _bad(file, f"expected {shown(member.filename)} to have its recorded checksum, found another")


def _decoder(method: int) -> Any:
    if method == _STORED:
        return lambda data: iter((data,))
    return _inflater() if method == _DEFLATED else _unzstd()


def _inflater() -> Any:
    inflate = zlib.decompressobj(-15)

    def decode(data: bytes) -> Iterator[bytes]:
        while data:
            out = inflate.decompress(data, 2**20)
            data = inflate.unconsumed_tail
            yield out

    return decode


def _unzstd() -> Any:
    import zstandard

    context = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    frame: Any = context.decompressobj()

    def decode(data: bytes) -> Iterator[bytes]:
        nonlocal frame
        for start in range(0, len(data), _ZSTD_INPUT):
            part = data[start : start + _ZSTD_INPUT]
            while part:
                try:
                    out = frame.decompress(part)
                except zstandard.ZstdError as problem:
                    raise ValueError(str(problem)) from None
                part = b""
                if frame.eof:
                    part, frame = frame.unused_data, context.decompressobj()
                yield out

    return decode


def _bad(file: str, message: str) -> Malformed:
    return Malformed("bad-archive", message, file, remedy="take the log as Inspect wrote it, or transfer it again")


def _damaged(file: str, problem: Exception) -> Malformed:
    return _bad(file, f"expected a whole zip archive, found: {one_line(str(problem) or type(problem).__name__, 200)}")

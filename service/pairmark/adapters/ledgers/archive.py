"""Packed bundles: a `.tar.gz` unpacked under suspicion, or written so that equal bundles give equal bytes."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Iterator
from pathlib import Path

from pairmark.adapters.ledgers.decompress import decompressor
from pairmark.adapters.ledgers.ingest import LEDGER_FILES, chunks_of
from pairmark.adapters.ledgers.limits import Limits, too_large
from pairmark.adapters.ledgers.tar import TarReader
from pairmark.domain.errors import Malformed, shown


def unpack_bundle(archive: Path, target: Path, *, file: str, limits: Limits) -> None:
    """Write `run.json` and the ledger of a `.tar.gz` into the folder `target`; `file` is how errors name the archive.

    The two may lie in one folder inside the archive. Nothing else may be in it: no other file, no link, no device,
    no path that leads elsewhere, no member twice.

    Raises:
        Malformed: what is in the archive, or that it is none.
    """
    folder: str | None = None
    for member, content in TarReader(_Plain(archive, file, limits), file=file, limits=limits):
        parts = [part for part in member.path.split("/") if part != "."]
        name = parts[-1]
        inside = "/".join(parts[:-1])
        if len(parts) > 2 or ".." in parts or "" in parts or "\\" in member.path or name not in ("run.json", *LEDGER_FILES):
            raise _unexpected(member.path, file)
        if folder is not None and folder != inside:
            raise _unexpected(member.path, file)
        folder = inside
        if (target / name).exists():
            raise Malformed(
                "duplicate-member", f"expected each file once, found {shown(member.path)} again", file, remedy="pack the bundle again"
            )
        if name == "run.json" and member.size > limits.document:
            raise too_large("document", limits.document, file=f"{file}/{name}")
        with (target / name).open("xb") as out:
            for chunk in content():
                out.write(chunk)


def _unexpected(path: str, file: str) -> Malformed:
    return Malformed(
        "bad-archive", f"expected run.json and one ledger (in one folder at most), found {shown(path)}", file,
        remedy="pack only the two files of the bundle",
    )


class _Plain:
    """The archive's plain bytes, read in exact amounts."""

    def __init__(self, archive: Path, file: str, limits: Limits) -> None:
        self._chunks = self._decompressed(archive, file, limits)
        self._rest = b""

    @staticmethod
    def _decompressed(archive: Path, file: str, limits: Limits) -> Iterator[bytes]:
        gunzip = decompressor("gzip", "archive", limits.archive, file)
        for chunk in chunks_of(archive):
            yield from gunzip.feed(chunk)
        gunzip.finish()

    def __call__(self, size: int) -> bytes:
        if len(self._rest) >= size:
            taken, self._rest = self._rest[:size], self._rest[size:]
            return taken
        found = [self._rest]
        have = len(self._rest)
        while have < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            found.append(chunk)
            have += len(chunk)
        data = b"".join(found)
        self._rest = data[size:]
        return data[:size]


def pack_bundle(directory: Path, archive: Path) -> None:
    """Write the files of a bundle directory as a `.tar.gz`; equal files give equal bytes (no times, owners or modes)."""
    with archive.open("xb") as out, gzip.GzipFile("", "wb", 6, out, mtime=0) as packed, tarfile.open(
        fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT
    ) as tar:
        for name in ("run.json", *LEDGER_FILES):
            path = directory / name
            if not path.is_file():
                continue
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = path.stat().st_size, 0o644
            with path.open("rb") as content:
                tar.addfile(entry, content)

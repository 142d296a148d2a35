"""Ledger bytes in, one checked Parquet object in canonical order out; streaming, with nothing left behind on failure."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, Self

import polars as pl

from pairmark.adapters.ledgers.decompress import Encoding, decompressor
from pairmark.adapters.ledgers.jsonl_in import JsonLinesReader
from pairmark.adapters.ledgers.limits import DEFAULT_LIMITS, MIB, Limits

Kind = Literal["jsonl", "parquet"]
CHUNK_BYTES = MIB


@dataclass(frozen=True)
class LedgerFormat:
    """How a ledger's bytes are written."""

    kind: Kind
    encoding: Encoding = "identity"


LEDGER_FILES: dict[str, LedgerFormat] = {
    "episodes.jsonl": LedgerFormat("jsonl"),
    "episodes.jsonl.gz": LedgerFormat("jsonl", "gzip"),
    "episodes.jsonl.zst": LedgerFormat("jsonl", "zstd"),
    "episodes.parquet": LedgerFormat("parquet"),
}
"""The names a ledger may have in a bundle."""


@dataclass(frozen=True)
class IngestedLedger:
    """A checked ledger: count and digest of its canonical form, and the Parquet file, which now belongs to the caller."""

    count: int
    digest: str
    path: Path


class FrameReader(Protocol):
    """Bytes in, frames of checked episodes in file order out."""

    def feed(self, chunk: bytes) -> Iterator[pl.DataFrame]: ...

    def finish(self) -> Iterator[pl.DataFrame]: ...


def frame_reader(form: LedgerFormat, *, file: str | None, limits: Limits, scratch: Path) -> FrameReader:
    """The strict reader of one format; `scratch` is a folder for what has to lie on disk, removed by the caller."""
    if form.kind == "parquet":
        from pairmark.adapters.ledgers.parquet_in import ParquetReader

        return _Decompressing(ParquetReader(file=file, limits=limits, scratch=scratch), form.encoding, file, limits)
    return _Decompressing(JsonLinesReader(file=file, limits=limits), form.encoding, file, limits)


class _Decompressing:
    def __init__(self, reader: FrameReader, encoding: Encoding, file: str | None, limits: Limits) -> None:
        self._reader = reader
        self._plain = decompressor(encoding, "ledger", limits.ledger, file)

    def feed(self, chunk: bytes) -> Iterator[pl.DataFrame]:
        for data in self._plain.feed(chunk):
            yield from self._reader.feed(data)

    def finish(self) -> Iterator[pl.DataFrame]:
        self._plain.finish()
        yield from self._reader.finish()


class LedgerIngest:
    """One ledger on its way in. Use as a context: `feed` every chunk, then `finish`; leaving without `finish` removes all.

    Parsing runs in the calling thread; hashing, sorting and writing in one other.
    """

    def __init__(
        self,
        form: LedgerFormat,
        folder: Path,
        *,
        file: str | None = None,
        require_order: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        """`folder` holds the scratch files and the result; `file` is how errors name the ledger."""
        from pairmark.adapters.ledgers.build import LedgerBuilder

        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._scratch = Path(tempfile.mkdtemp(prefix="ingest-", dir=folder))
        self._builder = LedgerBuilder(self._scratch, file=file, require_order=require_order)
        try:
            self._reader = frame_reader(form, file=file, limits=limits, scratch=self._scratch)
        except BaseException:
            self.close()
            raise

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the ledger.

        Raises:
            Malformed: with file, line and, where it can be told, pointer. The ingest is over then.
        """
        self._take(self._reader.feed(chunk))

    def finish(self) -> IngestedLedger:
        """Check the end, sort if need be, and hand over the result.

        Raises:
            Malformed: as `feed`.
        """
        self._take(self._reader.finish())
        count, digest, made = self._builder.finish()
        kept = self._folder / f"{self._scratch.name}.parquet"
        made.rename(kept)
        self.close()
        return IngestedLedger(count, digest, kept)

    def close(self) -> None:
        """Stop and remove every scratch file."""
        self._builder.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _take(self, frames: Iterator[pl.DataFrame]) -> None:
        for frame in frames:
            self._builder.add(frame)


def chunks_of(path: Path, size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """The bytes of a file, chunk by chunk."""
    with path.open("rb", buffering=0) as stream:
        while chunk := stream.read(size):
            yield chunk


def ingest_ledger(
    chunks: Iterable[bytes],
    form: LedgerFormat,
    folder: Path,
    *,
    file: str | None = None,
    require_order: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> IngestedLedger:
    """Read, check, order and digest a ledger, and write it as a Parquet file into `folder`.

    Args:
        chunks: the ledger's bytes.
        form: how they are written.
        folder: for scratch files and the result; on the file system of the object store, so that it can be renamed there.
        file: how errors name the ledger.
        require_order: refuse a ledger that is not in canonical order, naming the first line; otherwise sort it.
        limits: how much is read.

    Raises:
        Malformed: with file, line and, where it can be told, pointer; nothing remains then.
    """
    with LedgerIngest(form, folder, file=file, require_order=require_order, limits=limits) as ingest:
        for chunk in chunks:
            ingest.feed(chunk)
        return ingest.finish()

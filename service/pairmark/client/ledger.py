"""Ledgers on their way out: sorted and checked here, sent as compressed canonical lines."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pairmark.domain.errors import Malformed, shown

TYPE = "application/x-ndjson"
ENCODING = "zstd"
LEVEL = 3


@dataclass(frozen=True)
class Packed:
    """The bytes that are sent, in a file; the same ledger gives the same bytes."""

    path: Path
    size: int
    sha256: bytes


@dataclass(frozen=True)
class OutgoingLedger:
    """A checked ledger in canonical order: count and digest of its lines, and a file in a folder that goes with it."""

    count: int
    digest: str
    path: Path

    @cached_property
    def packed(self) -> Packed:
        """The canonical lines, compressed into a file beside; made when it is first asked for."""
        import zstandard

        from pairmark.adapters.ledgers.columnar import lines_of

        packing = zstandard.ZstdCompressor(level=LEVEL).compressobj()
        target, running, size = self.path.with_suffix(".sent"), hashlib.sha256(), 0

        def pieces() -> Iterator[bytes]:
            for lines in lines_of(self.path):
                yield packing.compress(lines)
            yield packing.flush()

        with target.open("wb") as file:
            for piece in pieces():
                file.write(piece)
                running.update(piece)
                size += len(piece)
        return Packed(target, size, running.digest())


@contextmanager
def outgoing_ledger(file: Path) -> Iterator[OutgoingLedger]:
    """Read a ledger file (`episodes.jsonl`, `.jsonl.gz`, `.jsonl.zst` or `.parquet`) strictly and put it in order.

    Raises:
        Malformed: with file, line and pointer.
    """
    from pairmark.adapters.ledgers.ingest import LEDGER_FILES, chunks_of, ingest_ledger

    form = LEDGER_FILES.get(file.name)
    if form is None:
        raise Malformed(
            "ledger-files", f"expected one of {', '.join(LEDGER_FILES)}, found {shown(file.name)}", str(file), remedy="give the bundle's ledger"
        )
    with tempfile.TemporaryDirectory(prefix="pairmark-") as scratch:
        made = ingest_ledger(chunks_of(file), form, Path(scratch), file=str(file))
        yield OutgoingLedger(made.count, made.digest, made.path)

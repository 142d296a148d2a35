"""Ledgers on their way out: sorted and checked here, sent as compressed canonical lines."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pairmark.domain.errors import Malformed, shown

TYPE = "application/x-ndjson"
ENCODING = "zstd"
LEVEL = 3


@dataclass(frozen=True)
class OutgoingLedger:
    """A checked ledger in canonical order. `chunks` starts again from the beginning on every call."""

    count: int
    digest: str
    path: Path

    def chunks(self) -> Iterator[bytes]:
        """The canonical lines, compressed."""
        import zstandard

        from pairmark.adapters.ledgers.columnar import lines_of

        packing = zstandard.ZstdCompressor(level=LEVEL).compressobj()
        for lines in lines_of(self.path):
            packed = packing.compress(lines)
            if packed:
                yield packed
        yield packing.flush()


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

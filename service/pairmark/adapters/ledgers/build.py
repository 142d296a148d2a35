"""From frames in file order to one Parquet object in canonical order, with its digest."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from pairmark.adapters.ledgers.background import Background
from pairmark.adapters.ledgers.canonical_out import LedgerDigest
from pairmark.adapters.ledgers.columnar import ParquetSink
from pairmark.adapters.ledgers.merge import ExternalSort
from pairmark.adapters.ledgers.order import OrderWatch, out_of_order

AHEAD = 4
"""Frames that may wait while a run is sorted and spilled."""


class LedgerBuilder:
    """Writes rows on as long as they come in canonical order; from the first that does not, sorts externally.

    Hashing, sorting and writing run in one other thread while the caller goes on.
    """

    def __init__(self, folder: Path, *, file: str | None, require_order: bool) -> None:
        """`folder` is scratch space that the caller removes."""
        self._folder, self._file, self._require_order = folder, file, require_order
        self._watch = OrderWatch()
        self._sink = ParquetSink(folder / "ordered.parquet")
        self._digest = LedgerDigest()
        self._sorter: ExternalSort | None = None
        self._rows = 0
        self._background = Background(AHEAD)

    def add(self, frame: pl.DataFrame) -> None:
        """Take the next rows.

        Raises:
            Malformed: `out-of-order`, if order is required.
        """
        if self._sorter is None:
            place = self._watch.first_out_of_order(frame)
            if place is None:
                self._background.do(self._write, frame)
            elif self._require_order:
                raise out_of_order(self._file, self._rows + place + 1)
            else:
                self._background.wait()
                self._sorter = ExternalSort(self._folder)
                self._sink.close()
                if self._rows:
                    self._sorter.add_run(self._sink.path)
        if self._sorter is not None:
            self._background.do(self._sorter.add, frame)
        self._rows += frame.height

    def finish(self) -> tuple[int, str, Path]:
        """Count, digest and the finished file (inside the folder)."""
        self._background.wait()
        if self._sorter is not None:
            self._sink, self._digest = ParquetSink(self._folder / "sorted.parquet"), LedgerDigest()
            for frame in self._sorter.merged():
                self._background.do(self._digest.update, frame)
                self._sink.write(frame)
            self._background.wait()
        self._sink.close()
        return self._digest.count, self._digest.digest(), self._sink.path

    def close(self) -> None:
        """Give up what is under way; the caller removes the folder."""
        self._background.close()
        self._sink.abandon()

    def _write(self, frame: pl.DataFrame) -> None:
        self._digest.update(frame)
        self._sink.write(frame)

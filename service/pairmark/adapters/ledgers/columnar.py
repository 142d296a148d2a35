"""Ledgers as Parquet: written in row groups of bounded size, read whole, by page, or as a stream of canonical lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pairmark.adapters.ledgers.canonical_out import LedgerDigest, canonical_lines
from pairmark.adapters.ledgers.limits import MIB
from pairmark.domain.episodes import EPISODE_SCHEMA

GROUP_ROWS = 65_536
GROUP_BYTES = 16 * MIB
_REPEATING = ["task_id", "injection_id", "epoch", "status", "attacker_actions", "served_model", "error", "task_digest", "attempt"]

_ARROW = pa.schema(
    [
        pa.field(name, {pl.Int64(): pa.int64(), pl.Boolean(): pa.bool_()}.get(kind, pa.large_string()))
        for name, kind in EPISODE_SCHEMA.items()
    ]
)


def pieces(frame: pl.DataFrame, rows: int, size: int) -> Iterator[pl.DataFrame]:
    """Consecutive slices of at most `rows` rows that hold at most about `size` bytes each (one row may be larger)."""
    if frame.height <= rows and frame.estimated_size() <= size:
        if frame.height:
            yield frame
        return
    text = pl.sum_horizontal(
        pl.col(name).str.len_bytes().fill_null(0).cast(pl.Int64) for name, kind in EPISODE_SCHEMA.items() if kind == pl.String()
    )
    weight = frame.select(((text + 64).cum_sum() // size) + pl.int_range(pl.len()) // rows).to_series()
    starts = [0, *((weight != weight.shift(1)).fill_null(False).arg_true().to_list()), frame.height]
    for start, end in pairwise(starts):
        yield frame[start:end]


class ParquetSink:
    """Writes frames to one Parquet file in the order they come. A context: closed at its end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._waiting: list[pl.DataFrame] = []
        self._waiting_rows = self._waiting_bytes = 0
        self._writer = pq.ParquetWriter(
            path,
            _ARROW,
            compression="zstd",
            compression_level=1,
            use_dictionary=_REPEATING,  # type: ignore[arg-type]  # takes names, too
            write_statistics=False,
            store_schema=False,
            write_page_checksum=True,
        )

    def write(self, frame: pl.DataFrame) -> None:
        """Add rows; they reach the file in groups."""
        for piece in pieces(frame, GROUP_ROWS, GROUP_BYTES):
            self._waiting.append(piece)
            self._waiting_rows += piece.height
            self._waiting_bytes += int(piece.estimated_size())
            if self._waiting_rows >= GROUP_ROWS // 2 or self._waiting_bytes >= GROUP_BYTES:
                self._flush()

    def _flush(self) -> None:
        if self._waiting:
            frame = pl.concat(self._waiting).with_columns(pl.col("status").cast(pl.String))
            table = frame.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(_ARROW)
            self._writer.write_table(table, row_group_size=table.num_rows)
        self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0

    def close(self) -> None:
        """Write what waits and the footer."""
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Close without writing what waits."""
        self._waiting = []
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()


def _typed(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.cast(dict(EPISODE_SCHEMA))  # type: ignore[arg-type]  # the mapping is invariant in its key


def read_frame(path: Path) -> pl.DataFrame:
    """A whole Parquet object as a frame with the dtypes of `EPISODE_SCHEMA`."""
    return _typed(pl.read_parquet(path))


def frames_of(path: Path) -> Iterator[pl.DataFrame]:
    """The row groups of a Parquet object, one after the other; no more than one is held."""
    with pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as file:
        for group in range(file.metadata.num_row_groups):
            yield _group(file, group)


def _group(file: pq.ParquetFile, group: int) -> pl.DataFrame:
    frame = pl.from_arrow(file.read_row_group(group, use_threads=False))
    if not isinstance(frame, pl.DataFrame):
        raise TypeError(f"expected a table, found {type(frame).__name__}")
    return _typed(frame)


def lines_of(path: Path) -> Iterator[bytes]:
    """The canonical ledger (NDJSON) of a Parquet object in pieces of whole lines; bounded memory."""
    for frame in frames_of(path):
        for piece in pieces(frame, 8192, 4 * MIB):
            yield canonical_lines(piece)


def page_of(path: Path, offset: int, limit: int) -> pl.DataFrame:
    """Rows `offset` to `offset + limit`; only the row groups that hold them are read."""
    found: list[pl.DataFrame] = []
    with pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as file:
        start = 0
        for group in range(file.metadata.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if start < offset + limit and start + rows > offset:
                frame = _group(file, group)
                first = max(offset - start, 0)
                found.append(frame.slice(first, offset + limit - start - first))
            start += rows
    return pl.concat(found) if found else pl.DataFrame(schema=EPISODE_SCHEMA)


def rows_of(path: Path) -> int:
    """How many episodes a Parquet object holds; reads the footer only."""
    return int(pq.read_metadata(path).num_rows)


def digest_of_object(path: Path) -> str:
    """The ledger digest recomputed from a Parquet object."""
    running = LedgerDigest()
    for frame in frames_of(path):
        running.update(frame)
    return running.digest()

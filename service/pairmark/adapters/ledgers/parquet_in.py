"""Strict reading of a ledger written as Parquet: exact columns and types, then the same judgement as for lines.

A Parquet file can be read only once it is whole, so the bytes go to a scratch file first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pairmark.adapters.ledgers.checks import ColumnChecks
from pairmark.adapters.ledgers.limits import MIB, Limits, too_large
from pairmark.adapters.ledgers.lines import frame_in_file_order, read_row
from pairmark.domain.episodes import EPISODE_SCHEMA
from pairmark.domain.errors import Malformed, one_line, shown

_REQUIRED = ("task_id", "injection_id", "epoch", "status")
_BATCH_ROWS = 16_384
_BATCH_BYTES = 16 * MIB
_THRIFT_TEXT, _THRIFT_ITEMS = 16 * MIB, 1_000_000


class ParquetReader:
    """Bytes in, episodes out; everything happens in `finish`."""

    def __init__(self, *, file: str | None, limits: Limits, scratch: Path) -> None:
        """`scratch` is a folder that the caller removes."""
        self._file, self._limits = file, limits
        self._path = scratch / "uploaded.parquet"
        self._path.touch()
        self._rows = 0
        self._text = 0
        self._checks = ColumnChecks(file=file, limits=limits)

    def feed(self, chunk: bytes) -> Iterator[pl.DataFrame]:
        """Take the next bytes; gives nothing yet."""
        with self._path.open("ab") as stream:  # nothing stays open when the sender never finishes
            stream.write(chunk)
        return iter(())

    def finish(self) -> Iterator[pl.DataFrame]:
        """The frames, in file order.

        Raises:
            Malformed: with file, row (as line) and pointer.
        """
        try:
            yield from self._frames()
        except (pa.ArrowException, OSError, ValueError, MemoryError) as problem:
            raise Malformed(
                "bad-parquet", f"expected a Parquet file, found: {one_line(str(problem), 200)}", self._file, remedy="write the file again"
            ) from None

    def _frames(self) -> Iterator[pl.DataFrame]:
        with self._opened([]) as file:
            self._check_shape(file)
            texts = [field.name for field in file.schema_arrow if EPISODE_SCHEMA[field.name] not in (pl.Int64(), pl.Boolean())]
            declared = file.metadata.num_rows
        # Repeated text stays a code until its size is known: one value named a million times is no memory bomb.
        with self._opened(texts) as file:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, use_threads=False):
                for frame in self._batch(batch):
                    self._rows += frame.height
                    yield frame
        if self._rows != declared:
            raise ValueError(f"{self._rows} rows where the footer declares {declared}")

    def _opened(self, as_codes: list[str]) -> pq.ParquetFile:
        return pq.ParquetFile(
            self._path,
            read_dictionary=as_codes,
            pre_buffer=False,
            buffer_size=MIB,
            thrift_string_size_limit=_THRIFT_TEXT,
            thrift_container_size_limit=_THRIFT_ITEMS,
            page_checksum_verification=True,
        )

    def _check_shape(self, file: pq.ParquetFile) -> None:
        if file.metadata.num_rows > self._limits.rows:
            raise too_large("rows", self._limits.rows, file=self._file, unit="episodes")
        groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
        chunks = [group.column(index).total_uncompressed_size for group in groups for index in range(group.num_columns)]
        if max(chunks, default=0) > self._limits.chunk:
            raise too_large("chunk", self._limits.chunk, file=self._file)
        if sum(chunks) > self._limits.ledger:
            raise too_large("ledger", self._limits.ledger, file=self._file)
        schema = file.schema_arrow
        for name in schema.names:
            if name not in EPISODE_SCHEMA:
                raise self._refusal("unknown-key", f"expected only the columns of a ledger, found {shown(name)}", name)
            if schema.names.count(name) > 1:
                raise self._refusal("duplicate-key", f"expected each column once, found {shown(name)} again", name)
        for name in _REQUIRED:
            if name not in schema.names:
                raise self._refusal("missing-key", "expected this column, found none", name)
        for field in schema:
            if not _fits(field.type, EPISODE_SCHEMA[field.name]):
                raise self._refusal(
                    "invalid-type", f"expected a column of {_wanted(EPISODE_SCHEMA[field.name])}, found {field.type}", field.name
                )

    def _refusal(self, code: str, message: str, column: str) -> Malformed:
        pointer = "/" + column[:200].replace("~", "~0").replace("/", "~1")
        return Malformed(code, message, self._file, None, pointer, "see the schema of an episode (schemas/)")

    def _batch(self, batch: pa.RecordBatch) -> Iterator[pl.DataFrame]:
        batch.validate(full=True)  # offsets and codes inside bounds, text UTF-8
        sizes = _text_sizes(batch)
        self._text += int(sizes.sum())
        if self._text > self._limits.ledger:
            raise too_large("ledger", self._limits.ledger, file=self._file)
        long = np.flatnonzero(sizes > self._limits.line)
        if len(long):
            raise too_large("line", self._limits.line, file=self._file, line=self._rows + int(long[0]) + 1)
        for start, end in _cuts(sizes):
            frame = self._frame(batch.slice(start, end - start))
            self._checks.refuse_collisions(frame, self._rows + 1)
            yield frame

    def _frame(self, batch: pa.RecordBatch) -> pl.DataFrame:
        frame = _fast(batch)
        if frame is not None and self._checks.acceptable(frame):
            return frame
        rows: list[dict[str, Any]] = batch.to_pylist()
        frame = frame_in_file_order(
            read_row(row, file=self._file, line=number) for number, row in enumerate(rows, self._rows + 1)
        )
        self._checks.acceptable(frame)  # which notes the ids
        return frame


def _wanted(kind: pl.DataType) -> str:
    return {pl.Int64(): "integers", pl.Boolean(): "booleans"}.get(kind, "strings")


def _fits(found: pa.DataType, kind: pl.DataType) -> bool:
    if pa.types.is_null(found):  # nothing but nulls; refused later where a value is required
        return True
    if kind == pl.Int64():
        return pa.types.is_integer(found)
    if kind == pl.Boolean():
        return pa.types.is_boolean(found)
    if isinstance(found, pa.DictionaryType):
        found = found.value_type
    return pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found)


def _text_sizes(batch: pa.RecordBatch) -> NDArray[np.int64]:
    """Bytes of text in each row."""
    total = np.zeros(batch.num_rows, dtype=np.int64)
    for column in batch.columns:
        if isinstance(column, pa.DictionaryArray):
            total += _numbers(pc.take(_lengths(column.dictionary), column.indices))
        elif not (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type) or pa.types.is_null(column.type)):
            total += _numbers(_lengths(column))
    return total


def _lengths(column: Any) -> Any:
    return pc.binary_length(column.cast(pa.large_string()))


def _numbers(column: Any) -> NDArray[np.int64]:
    return np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False), dtype=np.int64)


def _cuts(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of rows whose text is at most about `_BATCH_BYTES`."""
    parts = np.cumsum(sizes) // _BATCH_BYTES
    yield from pairwise([0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(parts)])


def _fast(batch: pa.RecordBatch) -> pl.DataFrame | None:
    """The batch with the columns of `EPISODE_SCHEMA`; None where a value does not fit its type."""
    try:
        columns = {
            name: batch.column(name).cast(pa.int64() if kind == pl.Int64() else pa.bool_() if kind == pl.Boolean() else pa.large_string())
            for name, kind in EPISODE_SCHEMA.items()
            if name in batch.schema.names
        }
        frame = pl.DataFrame(pa.table(columns))
        missing = [pl.lit(None).alias(name) for name in EPISODE_SCHEMA if name not in columns]
        frame = frame.with_columns(missing).select(*EPISODE_SCHEMA).cast(dict(EPISODE_SCHEMA))  # type: ignore[arg-type]
    except (pa.ArrowInvalid, pl.exceptions.PolarsError):
        return None
    return frame.with_columns(pl.col("attempt").fill_null(1))

"""CSV and Parquet to columns of tagged values, batch by batch."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from pairmark.domain.errors import Malformed, one_line, shown
from pairmark.importers.generic.cells import MAX_LINE_BYTES, tagged_text
from pairmark.importers.generic.stream import MAX_PLAIN_BYTES, MIB

_MAX_COLUMNS = 2000
_MAX_HEADER_BYTES = MIB
_BATCH_ROWS = 16_384
_BLOCK_BYTES = 8 * MIB
_QUOTE, _NEWLINE = b'"'[0], b"\n"[0]
_MAX_COLUMN_CHUNK = 256 * MIB
_THRIFT_TEXT, _THRIFT_ITEMS = 16 * MIB, 1_000_000


def csv_frames(chunks: Iterator[bytes], columns: Iterable[str], *, file: str, delimiter: str) -> Iterator[pl.DataFrame]:
    """Frames in file order. Every value is text, an empty field the empty text; quotes may hold line ends.

    Raises:
        Malformed: no such column, a row of another length, a row longer than `MAX_LINE_BYTES`, not UTF-8.
    """
    wanted = list(columns)
    header, rest = _with_header(chunks, file)
    _check_header(header, wanted, file, delimiter)
    first = 2
    for block in _row_blocks(rest, file):
        _check_quotes(block, file, delimiter, first)
        # Whole rows in memory: over a file object of ours Arrow reads ahead in a thread that may outlive the interpreter.
        data = pa.py_buffer(header + b"\n" + block)
        try:
            table = pa_csv.read_csv(
                pa.BufferReader(data),  # type: ignore[arg-type]  # the stubs know no native file
                read_options=pa_csv.ReadOptions(use_threads=False, block_size=len(header) + len(block) + 2),
                parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                convert_options=pa_csv.ConvertOptions(
                    include_columns=wanted, column_types=dict.fromkeys(wanted, pa.large_string()), strings_can_be_null=False
                ),
            )
        except (pa.ArrowException, UnicodeError) as problem:
            raise Malformed(
                "bad-csv", f"expected CSV with a header, found after line {first - 1}: {one_line(str(problem), 200)}", file,
                remedy="check the delimiter, the quotes and that every row has as many fields as the header",
            ) from None  # fmt: skip
        first += block.count(b"\n")
        frame = pl.DataFrame(table)
        yield pl.DataFrame([tagged_text(frame[name]) for name in wanted])


def _row_blocks(chunks: Iterable[bytes], file: str) -> Iterator[bytes]:
    """Blocks of whole rows: cut at line ends before which the quotes are even."""
    waiting = bytearray()
    looked = odd = end = 0
    for chunk in chunks:
        waiting += chunk
        letters = np.frombuffer(bytes(waiting[looked:]), dtype=np.uint8)
        parity = (np.cumsum(letters == _QUOTE) + odd) & 1
        ends = np.flatnonzero((letters == _NEWLINE) & (parity == 0))
        end = looked + int(ends[-1]) + 1 if len(ends) else end
        looked, odd = len(waiting), int(parity[-1]) if len(parity) else odd
        if end and len(waiting) >= _BLOCK_BYTES:
            yield bytes(waiting[:end])
            del waiting[:end]
            looked, end = looked - end, 0
        if len(waiting) > _BLOCK_BYTES + MAX_LINE_BYTES:
            raise Malformed(
                "too-large", f"expected rows of at most {MAX_LINE_BYTES} bytes, found a longer one", file,
                remedy="check that every quote is closed",
            )  # fmt: skip
    if odd:
        raise Malformed(
            "open-quote", "expected every quote to be closed, found the file to end inside one: the rows behind it would be lost", file,
            remedy="close the quote, or write a quote inside a quoted value twice",
        )  # fmt: skip
    if waiting.strip():
        yield bytes(waiting)


def _check_quotes(block: bytes, file: str, delimiter: str, first: int) -> None:
    """Refuse a quote that opens within a value, or closes before its end: a parser would join what are several rows."""
    letters = np.frombuffer(b"\n" + block + b"\n", dtype=np.uint8)
    at = np.flatnonzero(letters == _QUOTE)
    bounds = np.frombuffer(f'"{delimiter}\n'.encode(), dtype=np.uint8)
    opens, closes = at[0::2], at[1::2]
    wrong = opens[~np.isin(letters[opens - 1], bounds)].tolist() + closes[~np.isin(letters[closes + 1], [*bounds, b"\r"[0]])].tolist()
    if wrong:
        raise Malformed(
            "bad-quote", "expected quotes around whole values, found one inside a value, or an earlier one that is not closed", file,
            first + block.count(b"\n", 0, min(wrong) - 1), remedy="quote the whole value, and write a quote inside it twice",
        )  # fmt: skip


def _with_header(chunks: Iterator[bytes], file: str) -> tuple[bytes, Iterator[bytes]]:
    """The first line, and all bytes behind it."""
    begin = b""
    while b"\n" not in begin and len(begin) <= _MAX_HEADER_BYTES:
        chunk = next(chunks, None)
        if chunk is None:
            break
        begin += chunk
    begin = begin.removeprefix(b"\xef\xbb\xbf")
    header, _, behind = begin.partition(b"\n")
    header = header.rstrip(b"\r")
    if len(header) > _MAX_HEADER_BYTES:
        raise Malformed(
            "too-large", f"expected a header of at most {_MAX_HEADER_BYTES} bytes, found a longer one", file, 1, remedy="is it CSV?"
        )
    if not header.strip():
        raise Malformed("empty", "expected a header and rows, found none", file, 1, remedy="write the column names first")

    return header, chain((behind,) if behind else (), chunks)


def _check_header(header: bytes, wanted: list[str], file: str, delimiter: str) -> None:
    try:
        names = next(csv.reader([header.decode("utf-8").rstrip("\r")], delimiter=delimiter))
    except (UnicodeDecodeError, csv.Error, StopIteration):
        raise Malformed("bad-csv", "expected a header of column names in UTF-8", file, 1, remedy="save it as UTF-8") from None
    if len(names) > _MAX_COLUMNS:
        raise Malformed("too-large", f"expected at most {_MAX_COLUMNS} columns, found {len(names)}", file, 1, remedy="keep fewer")
    check_names(names, wanted, file)


def check_names(names: list[str], wanted: Iterable[str], file: str) -> None:
    """Refuse a file that lacks a column, or has it twice."""
    for name in wanted:
        if names.count(name) != 1:
            listed = ", ".join(map(shown, names[:20])) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
            raise Malformed(
                "missing-column" if name not in names else "duplicate-column",
                f"expected the column {shown(name)} once, found {listed}", file, 1,
                remedy="correct the name in the mapping",
            )  # fmt: skip


def parquet_frames(path: Path, columns: Iterable[str]) -> Iterator[pl.DataFrame]:
    """Frames in file order. NaN is a missing value: that is how frames with gaps write numbers.

    Raises:
        Malformed: no Parquet, no such column, or larger than the limits, as its footer declares.
    """
    wanted, file = list(columns), str(path)
    try:
        with pq.ParquetFile(
            path, pre_buffer=False, buffer_size=MIB, thrift_string_size_limit=_THRIFT_TEXT,
            thrift_container_size_limit=_THRIFT_ITEMS, page_checksum_verification=True,
        ) as opened:  # fmt: skip
            check_names(opened.schema_arrow.names, wanted, file)
            groups = [opened.metadata.row_group(index) for index in range(opened.metadata.num_row_groups)]
            sizes = [group.column(index).total_uncompressed_size for group in groups for index in range(group.num_columns)]
            if max(sizes, default=0) > _MAX_COLUMN_CHUNK or sum(sizes) > MAX_PLAIN_BYTES:
                raise Malformed(
                    "too-large", f"expected at most {_MAX_COLUMN_CHUNK} bytes in a column of a row group, and {MAX_PLAIN_BYTES} in all",
                    file, remedy="write smaller row groups",
                )  # fmt: skip
            for batch in opened.iter_batches(batch_size=_BATCH_ROWS, columns=wanted, use_threads=False):
                batch.validate(full=True)
                yield pl.DataFrame([_tagged(batch.column(name), name, file) for name in wanted])
    except (pa.ArrowException, OSError, ValueError, MemoryError) as problem:
        raise Malformed(
            "bad-parquet", f"expected a Parquet file, found: {one_line(str(problem), 200)}", file, remedy="write the file again"
        ) from None


def _tagged(column: Any, name: str, file: str) -> pl.Series:
    kind = column.type.value_type if isinstance(column.type, pa.DictionaryType) else column.type
    if pa.types.is_null(kind):
        return pl.Series(name, [None] * len(column), dtype=pl.String)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return tagged_text(pl.Series(name, column.cast(pa.large_string())))
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        values = pl.Series(name, column).cast(pl.String)
    elif pa.types.is_floating(kind):
        values = pl.Series(name, column.cast(pa.float64())).fill_nan(None).cast(pl.String)
    else:
        raise Malformed(
            "invalid-type", f"expected text, numbers or booleans in column {shown(name)}, found {kind}", file,
            remedy="write the column as text",
        )  # fmt: skip
    return values.to_frame("v").select(pl.lit("j") + pl.col("v")).to_series().rename(name)

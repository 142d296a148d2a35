"""Reading CSV tables of other people's results: all text, the columns that are needed, nothing guessed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from pairmark.domain.errors import Malformed, shown

LARGEST_BYTES = 256 * 2**20
"""Of a table as it lies on the disk."""


def read_table(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    """A CSV file (also `.gz` or `.zst`), every cell as text, an empty one null; only `columns`.

    Raises:
        Malformed: no such file, no CSV, or columns that are not there.
    """
    if not path.is_file():
        raise Malformed("no-such-file", "expected a table of results, found no such file", str(path), remedy="check the path")
    if path.stat().st_size > LARGEST_BYTES:
        raise Malformed("too-large", f"expected at most {LARGEST_BYTES} bytes, found {path.stat().st_size}", str(path), remedy="split it")
    try:
        frame = pl.read_csv(path, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError, ValueError) as problem:
        raise Malformed("not-csv", f"expected a CSV table, found: {problem}", str(path), remedy="check the file") from None
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise Malformed(
            "missing-columns", f"expected the columns {', '.join(columns)}, found none called {shown(missing[0])}", str(path), 1,
            remedy="give the table that this reader is for",
        )
    return frame.select(columns)


def whole_numbers(frame: pl.DataFrame, columns: Sequence[str], path: Path) -> pl.DataFrame:
    """The frame with `columns` as integers.

    Raises:
        Malformed: a cell that is not a whole number of at least 0, with its line.
    """
    for name in columns:
        bad = frame.with_row_index("row").filter(~pl.col(name).str.contains(r"^[0-9]{1,15}$").fill_null(False))
        if bad.height:
            raise Malformed(
                "not-a-count", f"expected a whole number in {name}, found {shown(bad[name][0])}", str(path), int(bad["row"][0]) + 2,
                remedy="correct the table",
            )
    return frame.with_columns(pl.col(name).cast(pl.Int64) for name in columns)


def only_flags(frame: pl.DataFrame, column: str, path: Path) -> None:
    """Raise Malformed where a cell is not `true`, `false` or empty (unknown), with its line."""
    bad = frame.with_row_index("row").filter(~pl.col(column).is_in(["true", "false"]).fill_null(True))
    if bad.height:
        raise Malformed(
            "not-a-flag", f"expected true, false or nothing in {column}, found {shown(bad[column][0])}", str(path), int(bad["row"][0]) + 2,
            remedy="correct the table",
        )

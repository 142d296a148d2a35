"""External sort into canonical order: sorted runs in scratch files, merged block by block in bounded memory.

Equal keys keep their file order: runs are numbered in file order, and a merge never takes a row of a later run
before an equal one of an earlier run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa

from pairmark.adapters.ledgers.columnar import frames_of, pieces
from pairmark.adapters.ledgers.limits import MIB
from pairmark.adapters.ledgers.order import Key, key_of, rows_up_to, sorted_rows
from pairmark.domain.episodes import EPISODE_SCHEMA

RUN_BYTES = 48 * MIB
BLOCK_ROWS, BLOCK_BYTES = 32_768, 4 * MIB
FAN_IN = 16


class ExternalSort:
    """Takes frames in any order and gives them back in canonical order."""

    def __init__(self, folder: Path, *, run_bytes: int = RUN_BYTES, fan_in: int = FAN_IN) -> None:
        """`folder` is scratch space that the caller removes; `run_bytes` are held in memory before a run is written."""
        self._folder, self._run_bytes, self._fan_in = folder, run_bytes, fan_in
        self._runs: list[Path] = []
        self._waiting: list[pl.DataFrame] = []
        self._waiting_bytes = 0
        self._made = 0

    def add_run(self, path: Path) -> None:
        """Take a Parquet file that is in canonical order as the next run."""
        self._runs.append(path)

    def add(self, frame: pl.DataFrame) -> None:
        """Take the next rows."""
        self._waiting.append(frame)
        self._waiting_bytes += int(frame.estimated_size())
        if self._waiting_bytes >= self._run_bytes:
            self._spill()

    def merged(self) -> Iterator[pl.DataFrame]:
        """All rows in canonical order, in frames of moderate size."""
        self._spill()
        while len(self._runs) > self._fan_in:
            groups = [self._runs[at : at + self._fan_in] for at in range(0, len(self._runs), self._fan_in)]
            self._runs = [self._write(_merge(group), group) for group in groups]
        return _merge(self._runs)

    def _spill(self) -> None:
        if self._waiting:
            ordered = sorted_rows(pl.concat(self._waiting))
            self._waiting, self._waiting_bytes = [], 0
            self._runs.append(self._write([ordered], []))

    def _write(self, frames: Iterable[pl.DataFrame], used: list[Path]) -> Path:
        path = self._folder / f"run-{self._made}.arrow"
        self._made += 1
        _write_blocks(path, frames)
        for done in used:
            done.unlink()
        return path


def _write_blocks(path: Path, frames: Iterable[pl.DataFrame]) -> None:
    """A run as an Arrow file: to write and read, it costs half of what Parquet does."""
    schema = _table(pl.DataFrame(schema=EPISODE_SCHEMA)).schema
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, schema) as writer:
        for frame in frames:
            for piece in pieces(frame, BLOCK_ROWS, BLOCK_BYTES):
                for batch in _table(piece).combine_chunks().to_batches():
                    writer.write_batch(batch)


def _table(frame: pl.DataFrame) -> pa.Table:
    return frame.with_columns(pl.col("status").cast(pl.String)).to_arrow(compat_level=pl.CompatLevel.oldest())


def _blocks(path: Path) -> Iterator[pl.DataFrame]:
    """The blocks of a run, one after the other; no more than one is held."""
    if path.suffix == ".parquet":
        yield from frames_of(path)
        return
    with pa.OSFile(str(path), "rb") as stream:
        file = pa.ipc.open_file(stream)
        for index in range(file.num_record_batches):
            block = pl.DataFrame(file.get_batch(index))
            yield block.with_columns(pl.col("status").cast(EPISODE_SCHEMA["status"]))


class _Cursor:
    """One run: its loaded block and what follows."""

    def __init__(self, path: Path) -> None:
        self._blocks = _blocks(path)
        self.block: pl.DataFrame | None = None
        self.last: Key | None = None
        self.load()

    def load(self) -> None:
        self.block = next(self._blocks, None)
        self.last = None if self.block is None else key_of(self.block, -1)

    def take(self, bound: Key, *, inclusive: bool) -> pl.DataFrame:
        if self.block is None:
            raise ValueError("expected a run that is not exhausted")
        rows = rows_up_to(self.block, bound, inclusive=inclusive)
        taken, self.block = self.block[:rows], self.block[rows:]
        if not self.block.height:
            self.load()
        return taken


def _merge(runs: list[Path]) -> Iterator[pl.DataFrame]:
    cursors = [_Cursor(path) for path in runs]
    while True:
        ends = [(cursor.last, index) for index, cursor in enumerate(cursors) if cursor.last is not None]
        if not ends:
            return
        # Every row up to the smallest last key is loaded, except equal ones that follow in that same run
        # (the earliest with this key): so later runs hand out only what is smaller.
        bound, owner = min(ends)
        taken = [
            cursor.take(bound, inclusive=index <= owner) for index, cursor in enumerate(cursors) if cursor.last is not None
        ]
        yield sorted_rows(pl.concat(taken))

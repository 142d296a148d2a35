"""Strict reading of ledger lines, fed chunk by chunk; gives frames in file order and keeps no more than one block."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from pairmark.adapters.ledgers.checks import ColumnChecks
from pairmark.adapters.ledgers.decode import decode_block, line_ends
from pairmark.adapters.ledgers.limits import MIB, Limits, too_large
from pairmark.adapters.ledgers.lines import frame_in_file_order, read_line

BLOCK_BYTES = 8 * MIB
_PLAIN_LINES = 32
"""A doubtful block is halved until it has this few lines; these are read one by one."""


class JsonLinesReader:
    """Bytes in, episodes out."""

    def __init__(self, *, file: str | None, limits: Limits, block_bytes: int = BLOCK_BYTES) -> None:
        self._file, self._limits, self._block_bytes = file, limits, block_bytes
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._lines = 0
        self._checks = ColumnChecks(file=file, limits=limits)

    def feed(self, chunk: bytes) -> Iterator[pl.DataFrame]:
        """Take the next bytes; gives the frames of the blocks that are complete.

        Raises:
            Malformed: with file, line and, where it can be told, pointer.
        """
        self._waiting.append(chunk)
        self._waiting_bytes += len(chunk)
        if self._waiting_bytes < self._block_bytes:
            return
        end = chunk.rfind(b"\n") + 1
        if end:  # as a rule: one copy, where joining and cutting makes two
            block, rest = b"".join([*self._waiting[:-1], memoryview(chunk)[:end]]), chunk[end:]
        else:
            data = b"".join(self._waiting)
            end = data.rfind(b"\n") + 1
            block, rest = data[:end], data[end:]
        self._waiting, self._waiting_bytes = [rest], len(rest)
        if block:
            yield from self._block(block)
        if len(rest) > self._limits.line:
            raise too_large("line", self._limits.line, file=self._file, line=self._lines + 1)

    def finish(self) -> Iterator[pl.DataFrame]:
        """The rest; a missing newline at the very end is forgiven."""
        data = b"".join(self._waiting)
        self._waiting = []
        if data:
            yield from self._block(data)

    def _block(self, block: bytes) -> Iterator[pl.DataFrame]:
        for frame in self._frames(block):
            self._checks.refuse_collisions(frame, self._lines + 1)
            self._lines += frame.height
            if self._lines > self._limits.rows:
                raise too_large("rows", self._limits.rows, file=self._file, unit="episodes")
            yield frame

    def _frames(self, block: bytes) -> Iterator[pl.DataFrame]:
        ends = line_ends(block)
        frame = decode_block(block, ends, self._limits.line, self._checks)
        if frame is not None:
            yield frame
        elif len(ends) > _PLAIN_LINES:
            middle = int(ends[len(ends) // 2]) + 1
            yield from self._frames(block[:middle])
            yield from self._frames(block[middle:])
        else:
            lines = block.split(b"\n")
            if block.endswith(b"\n"):
                lines.pop()
            frame = frame_in_file_order(
                read_line(line, file=self._file, line=number, limits=self._limits)
                for number, line in enumerate(lines, self._lines + 1)
            )
            self._checks.acceptable(frame)  # which notes the ids
            yield frame

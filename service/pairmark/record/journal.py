"""The file an unfinished run grows in: one JSON object per line, appended under a lock by any number of processes.

Every use opens the file afresh and locks it as a whole (`flock`), so threads, forked children and strangers exclude each other
alike, and a process that dies lets go. A line without its newline is what a killed process left: nobody was told that it was
written, so readers leave it out and the next writer cuts it off.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pairmark.domain import strict_json
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.errors import Conflict, Malformed, shown_place

Sync = Literal["episode", "finish"]
"""When the disk is waited for: after every ended episode (a power cut then loses none), or only when the run is finished."""

JOURNAL = "journal.jsonl"
_CHUNK = 2**20
_BACK = 2**16


@dataclass(frozen=True)
class Entry:
    """One line: its value, and where it stands."""

    value: dict[str, Any]
    offset: int
    length: int


class HeldJournal:
    """The journal, open and locked."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor, self._path = descriptor, path

    def since(self, offset: int) -> Iterator[Entry]:
        """The whole lines from `offset` on.

        Raises:
            Malformed: a whole line is not what this program writes.
        """
        rest, place = b"", offset
        while chunk := os.pread(self._descriptor, _CHUNK, place + len(rest)):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield Entry(self._parsed(line, place), place, len(line) + 1)
                place += len(line) + 1

    def append(self, value: dict[str, Any], *, wait: bool) -> None:
        """Add a line, whole or not at all; with `wait`, return when the disk has it."""
        start = self._cut_off_torn_line()
        data = memoryview(canonical_bytes(value) + b"\n")
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            if wait:
                os.fsync(self._descriptor)
        except BaseException:
            os.ftruncate(self._descriptor, start)
            raise

    def line(self, offset: int, length: int) -> dict[str, Any]:
        """The value of a line seen before."""
        return self._parsed(os.pread(self._descriptor, length, offset).rstrip(b"\n"), offset)

    def _cut_off_torn_line(self) -> int:
        """Size of the journal once it ends with a newline."""
        size = os.fstat(self._descriptor).st_size
        end = size
        while end:
            start = max(0, end - _BACK)
            place = os.pread(self._descriptor, end - start, start).rfind(b"\n")
            if place >= 0:
                end = start + place + 1
                break
            end = start
        if end != size:
            os.ftruncate(self._descriptor, end)
        return end

    def _parsed(self, line: bytes, offset: int) -> dict[str, Any]:
        try:
            value = strict_json.parse(line)
        except Malformed as problem:
            raise self.damaged(offset, problem.message) from None
        if not isinstance(value, dict) or value.get("event") not in ("start", "end"):
            raise self.damaged(offset, "expected a start or an end")
        return value

    def damaged(self, offset: int, found: str) -> Malformed:
        """The refusal of a whole line that no recording wrote."""
        return Malformed(
            "damaged-journal",
            f"expected lines that a recording wrote, found another at byte {offset}: {found}",
            str(self._path),
            remedy="take the line out, or record the run again",
        )


class Journal:
    """The journal of one unfinished run, by its path."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def held(self) -> Iterator[HeldJournal]:
        """Lock it.

        Raises:
            Conflict: `sealed`; the run has been finished meanwhile.
        """
        import fcntl  # not there on Windows, where none of this is promised

        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except FileNotFoundError:
            raise sealed(self.path.parent.parent) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink == 0:
                raise sealed(self.path.parent.parent)
            yield HeldJournal(descriptor, self.path)
        finally:
            os.close(descriptor)


class SealedMeanwhile(Conflict):
    """The run has been finished."""


def sealed(folder: Path) -> SealedMeanwhile:
    """The refusal to add to a finished run."""
    return SealedMeanwhile(
        "sealed",
        f"expected an unfinished run in {shown_place(folder)}, found a sealed one",
        "begin another run: a sealed run is never changed",
    )

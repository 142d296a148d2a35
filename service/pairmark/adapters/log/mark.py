"""The high-water mark: the largest head that may have been signed, kept outside the database.

A database that is restored from an older copy does not know what was signed after that copy; the mark does. It must not be
restored together with the database.

The file is a list of heads, one a line, and its last whole line counts. A head is appended and synced before it is signed, so that a line
which a crash left unfinished is one of a head that nobody signed. A long file is written anew with one line.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairmark.adapters.keys.files import write_durably
from pairmark.app.errors import Unavailable
from pairmark.app.log_records import LogHead
from pairmark.domain.canonical import canonical_bytes
from pairmark.provenance.merkle import HASH_SIZE

MARK_FILE = "high-water-mark.json"
LOCK_FILE = ".publishing"
SCHEMA = "pairmark/high-water-mark/v1"
MAX_BYTES = 65_536

_sync = getattr(os, "fdatasync", os.fsync)


@dataclass(frozen=True)
class HighWaterMark:
    """A file with one head of the log called `origin`; only ever moved forward, by whoever holds the lock."""

    folder: Path
    origin: str

    @property
    def path(self) -> Path:
        return self.folder / MARK_FILE

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One publisher at a time on this machine."""
        handle = os.open(self.folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def read(self) -> LogHead | None:
        """The head; None where nothing was ever signed.

        Raises:
            Unavailable: it cannot be read, or is of another log.
        """
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise _unreadable(f"{self.path}: {problem.strerror}") from None
        line = data[data.rfind(b"\n", 0, data.rfind(b"\n")) + 1 : data.rfind(b"\n") + 1]
        try:
            value: dict[str, Any] = json.loads(line)
            whole = value["schema"] == SCHEMA and canonical_bytes(value) + b"\n" == line and type(value["size"]) is int
            head, origin = LogHead(value["size"], bytes.fromhex(value["root"])), value["origin"]
        except (ValueError, KeyError, TypeError):
            raise _unreadable(f"{self.path} that is no mark") from None
        if not whole or len(head.root) != HASH_SIZE:
            raise _unreadable(f"{self.path} that is no mark")
        if origin != self.origin:
            raise _unreadable(f"{self.path} of the log {origin!r} instead of {self.origin!r}")
        return head

    def advance(self, head: LogHead) -> None:
        """Move the mark; it is on the disk when this returns."""
        value = {"schema": SCHEMA, "origin": self.origin, "size": head.size, "root": head.root.hex()}
        line = canonical_bytes(value) + b"\n"
        try:
            if not self._appended(line):
                write_durably(self.path, line, 0o600)
        except OSError as problem:
            raise Unavailable(
                "mark-not-written", f"expected to write the high-water mark, found: {problem.strerror}",
                "free space in the folder of keys; nothing was signed",
            ) from problem

    def _appended(self, line: bytes) -> bool:
        """Whether the line could be added to a file that is there, ends where a line ends, and is not long."""
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            return False
        try:
            size = os.fstat(handle).st_size
            if not 0 < size < MAX_BYTES or os.pread(handle, 1, size - 1) != b"\n":
                return False
            if os.write(handle, line) != len(line):
                return False
            _sync(handle)
        finally:
            os.close(handle)
        return True


def _unreadable(found: str) -> Unavailable:
    return Unavailable(
        "mark-unreadable", f"expected the high-water mark of the log, found {found}",
        "do not replace it by an older copy; the signer signs nothing until it can be read",
    )

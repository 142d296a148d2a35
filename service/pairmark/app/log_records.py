"""The transparency log as the use cases see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pairmark.provenance.checkpoint import Checkpoint
from pairmark.provenance.dsse import Envelope
from pairmark.provenance.note import NoteKey


@dataclass(frozen=True)
class LogHead:
    """How many entries there are, and the root over them."""

    size: int
    root: bytes


@dataclass(frozen=True)
class LogRecord:
    """An entry's bytes as hashed, its index, and the envelope that it names."""

    index: int
    entry: bytes
    envelope: bytes | None


@dataclass(frozen=True)
class StoredCheckpoint:
    """A signed head as it was handed out."""

    size: int
    note: bytes


@dataclass(frozen=True)
class Release:
    """Where a certificate stands in the log, and its SVR envelope."""

    certificate: str
    index: int
    svr: bytes


class Log(Protocol):
    """Entries, tree, checkpoints. Nothing in it ever changes; it only grows."""

    def append(self, entry: bytes, envelope: bytes | None, subjects: Sequence[str]) -> int:
        """Add an entry in this transaction, findable by `subjects`; its index. Checks the stored root first."""
        ...

    def head(self) -> LogHead: ...
    def next_index(self) -> int:
        """The index that the next entry of this transaction will get; nobody else can take it."""
        ...

    def of_index(self, index: int) -> LogRecord | None: ...
    def page(self, start: int, limit: int) -> tuple[LogRecord, ...]: ...
    def about(self, subject: str) -> tuple[LogRecord, ...]:
        """Entries found by `subject`, in order."""
        ...

    def node(self, level: int, index: int) -> bytes: ...
    def nodes(self, wanted: Sequence[tuple[int, int]]) -> Sequence[bytes]:
        """Hashes at some (level, index), asked for at once."""
        ...

    def checkpoint(self, at_least: int = 0) -> StoredCheckpoint | None:
        """The newest checkpoint, if it covers `at_least` entries."""
        ...

    def checkpoints(self) -> tuple[StoredCheckpoint, ...]:
        """Every checkpoint, the smallest first."""
        ...

    def checkpoint_of(self, size: int) -> StoredCheckpoint | None: ...
    def add_checkpoint(self, checkpoint: StoredCheckpoint) -> None: ...
    def release(self, release: Release) -> None: ...
    def release_of(self, certificate: str) -> Release | None: ...
    def registered(self, groups: Sequence[str]) -> tuple[int, int, int]:
        """Announcements of some groups: how many, how many of them not sealed, how many after the fact."""
        ...


class Signing(Protocol):
    """The keys of the log, by role."""

    @property
    def origin(self) -> str: ...
    def trust(self) -> bytes:
        """`trust.json`."""
        ...

    def log_keys(self) -> tuple[NoteKey, ...]:
        """Keys that this log's checkpoints may be signed with."""
        ...

    def sign_checkpoint(self, head: Checkpoint) -> bytes: ...
    def sign_certificate(self, payload: bytes, index: int) -> Envelope:
        """An in-toto payload signed by the certifier for an entry at `index`."""
        ...

    def sign_status(self, payload: bytes, index: int) -> Envelope:
        """An in-toto payload signed by the revoker for an entry at `index`."""
        ...

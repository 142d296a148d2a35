"""Sealed ledgers: taken in strictly, kept as objects, read whole, by line or by page."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import polars as pl
from typing_extensions import Buffer

from pairmark.adapters.ledgers.canonical_out import LedgerDigest, canonical_lines
from pairmark.adapters.ledgers.columnar import GROUP_ROWS, lines_of, page_of, read_frame, rows_of
from pairmark.adapters.ledgers.ingest import CHUNK_BYTES, IngestedLedger, LedgerFormat, ingest_ledger
from pairmark.adapters.ledgers.limits import DEFAULT_LIMITS, Limits
from pairmark.adapters.ledgers.objects import FileObjectStore
from pairmark.adapters.ledgers.row_secrets import RowSecrets
from pairmark.app.errors import Unavailable
from pairmark.app.seal_run import ReadLedger
from pairmark.app.stored import Damaged
from pairmark.domain.canonical import DIGEST_PREFIX
from pairmark.domain.episodes import EPISODE_SCHEMA

OLD_SECONDS = 24 * 3600
"""Scratch of an ingest is left behind only by a killed process; after a day it is nobody's."""

KEPT_ROOTS = 1024

OUTCOME_COLUMNS = (
    "task_id", "injection_id", "epoch", "status", "utility", "attack_success", "delivered", "attacker_actions", "served_model",
    "duration_ms", "attempt",
)


@dataclass(frozen=True)
class EpisodeFilter:
    """Which episodes: columns that equal a value, and flags that are true, false or (None) unknown."""

    equal: Mapping[str, str | int] = field(default_factory=dict)
    flags: Mapping[str, bool | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.equal or self.flags)

    def described(self) -> list[Any]:
        """The filter as JSON, for a cursor's mark."""
        return [sorted(self.equal.items()), sorted(self.flags.items())]

    def holds(self) -> pl.Expr:
        """True for the episodes meant, never null."""
        kept = pl.lit(True)
        for name, value in self.equal.items():
            column = pl.col(name).cast(pl.String) if name == "status" else pl.col(name)
            kept &= column.eq_missing(pl.lit(value))
        for name, flag in self.flags.items():
            kept &= pl.col(name).is_null() if flag is None else pl.col(name).eq_missing(pl.lit(flag))
        return kept


class LedgerStore:
    """Ledgers in a folder: Parquet objects by ledger digest, scratch beside them on the same file system."""

    def __init__(self, root: Path, *, limits: Limits = DEFAULT_LIMITS) -> None:
        self._objects = FileObjectStore(root)
        self.row_secrets = RowSecrets(root / "row-secrets")
        self._rows_roots: dict[str, str] = {}
        self._limits = limits

    def room(self) -> IO[bytes]:
        """A nameless file for a body on its way in; it vanishes with its last handle."""
        with _availability():
            return tempfile.TemporaryFile(dir=self._objects.scratch())

    @contextmanager
    def incoming(self, file: IO[bytes], form: LedgerFormat) -> Iterator[IncomingLedger]:
        """Read and check a ledger that must be in canonical order; unless it is kept, nothing of it stays.

        Raises:
            Malformed: with the line where it is wrong.
            Unavailable: the disk is full or cannot be written.
        """
        chunks = iter(lambda: file.read(CHUNK_BYTES), b"")
        with _availability():
            ingested = ingest_ledger(chunks, form, self._objects.scratch(), require_order=True, limits=self._limits)
        try:
            yield IncomingLedger(self._objects, ingested)
        finally:
            ingested.path.unlink(missing_ok=True)

    def frame(self, digest: str) -> pl.DataFrame:
        """The whole ledger, proven to be the one with this digest: verdicts rest on it."""
        frame = read_frame(self.path(digest))
        running = LedgerDigest()
        for start in range(0, frame.height, GROUP_ROWS):
            running.update(frame[start : start + GROUP_ROWS])
        if running.digest() != digest:
            raise Damaged(f"expected the ledger {digest} under its digest, found {running.digest()}; restore it from a backup")
        return frame

    def outcomes(self, digest: str) -> pl.DataFrame:
        """The columns that numbers are made of, as kept: their digest was proven when a verdict was given."""
        return pl.read_parquet(self.path(digest), columns=list(OUTCOME_COLUMNS)).cast(
            {name: EPISODE_SCHEMA[name] for name in OUTCOME_COLUMNS}
        )

    def rows_root(self, digest: str) -> str:
        """Root over the ledger's salted rows; worked out once for each process, since it follows from ledger and secret."""
        found = self._rows_roots.get(digest)
        if found is None:
            with _availability():
                found = self.row_secrets.root(digest, lines_of(self.path(digest)))
            if len(self._rows_roots) >= KEPT_ROOTS:
                self._rows_roots.clear()
            self._rows_roots[digest] = found
        return found

    def lines(self, digest: str, chosen: EpisodeFilter) -> Iterator[bytes]:
        """Canonical lines, in pieces of bounded size."""
        path = self.path(digest)
        if not chosen:
            return lines_of(path)
        return (canonical_lines(frame) for _, frame in _windows(path, 0, chosen) if frame.height)

    def page(
        self, digest: str, chosen: EpisodeFilter, start: int, size: int
    ) -> tuple[list[dict[str, Any]], int | None]:
        """Up to `size` episodes from row `start` of the ledger on, and the row where the next page starts, None at the end."""
        path = self.path(digest)
        rows: list[dict[str, Any]] = []
        if not chosen:
            rows = page_of(path, start, size).to_dicts()
            return rows, start + size if start + size < rows_of(path) else None
        for first, frame in _windows(path, start, chosen):
            found = frame.head(size + 1 - len(rows))
            rows.extend(found.drop(_ROW).to_dicts())
            if len(rows) > size:
                return rows[:size], first + int(found[_ROW][-1])
        return rows, None

    def path(self, digest: str) -> Path:
        """The Parquet object."""
        if not self._objects.exists(digest):
            raise Damaged(f"expected ledger {digest} in the store, found none; restore it from a backup")
        return self._objects.open(digest)

    def keep_object(self, digest: str, pieces: Iterable[Buffer]) -> None:
        """Keep bytes that a document names by their digest; once, however often they come.

        Raises:
            Damaged: they have another digest.
            Unavailable: they cannot be written.
        """
        if self._objects.exists(digest):
            return
        running = hashlib.sha256()
        with _availability(), tempfile.NamedTemporaryFile(dir=self._objects.scratch(), delete=False) as file:
            path = Path(file.name)
            try:
                for piece in pieces:
                    running.update(piece)
                    file.write(piece)
                file.close()
                if DIGEST_PREFIX + running.hexdigest() != digest:
                    raise Damaged(f"expected bytes with digest {digest}, found {DIGEST_PREFIX}{running.hexdigest()}; report this")
                self._objects.put_if_absent(digest, path)
            finally:
                path.unlink(missing_ok=True)

    def require_writable(self) -> None:
        """Write and remove a small file.

        Raises:
            Unavailable: the store cannot be written.
        """
        with _availability(), tempfile.TemporaryFile(dir=self._objects.scratch()) as probe:
            probe.write(b"writable")
            probe.flush()

    def sweep(self, now: float) -> None:
        """Remove scratch that a killed process left behind, once it is a day old; `now` in seconds since 1970."""
        self._objects.sweep(now - OLD_SECONDS)


class IncomingLedger:
    """A ledger that was read and checked, and is not an object yet."""

    def __init__(self, store: FileObjectStore, ingested: IngestedLedger) -> None:
        self._store, self._path = store, ingested.path
        self.ledger = ReadLedger(ingested.digest, ingested.count)

    def keep(self) -> None:
        """Make it an object, unless it is one already."""
        with _availability():
            self._store.put_if_absent(self.ledger.digest, self._path)


_ROW = "row in its window"


def _windows(path: Path, start: int, chosen: EpisodeFilter) -> Iterator[tuple[int, pl.DataFrame]]:
    """The chosen rows from `start` on, window by window: (first row of the window, rows with their place in it)."""
    for first in range(start, rows_of(path), GROUP_ROWS):
        yield first, page_of(path, first, GROUP_ROWS).with_row_index(_ROW).filter(chosen.holds())


@contextmanager
def _availability() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise Unavailable(
            "store-unavailable", f"expected to write to the ledger store, found: {problem.strerror}", "tell the operator; nothing was stored", 60
        ) from problem

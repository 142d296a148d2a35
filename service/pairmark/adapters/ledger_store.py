"""Sealed ledgers: taken in strictly, kept as objects, read whole, by line or by page."""

from __future__ import annotations

import errno
import hashlib
import re
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import polars as pl
from typing_extensions import Buffer

from pairmark.adapters.ledgers.canonical_out import LedgerDigest, canonical_lines
from pairmark.adapters.ledgers.columnar import GROUP_ROWS, lines_of, page_of, read_frame, rows_of
from pairmark.adapters.ledgers.ingest import CHUNK_BYTES, IngestedLedger, LedgerFormat, ingest_ledger
from pairmark.adapters.ledgers.limits import DEFAULT_LIMITS, Limits
from pairmark.adapters.ledgers.objects import FileObjectStore, ObjectStore
from pairmark.adapters.ledgers.row_secrets import RowSecrets
from pairmark.app.errors import Unavailable
from pairmark.app.seal_run import ReadLedger
from pairmark.app.stored import Damaged
from pairmark.domain.canonical import DIGEST_PREFIX
from pairmark.domain.episodes import EPISODE_SCHEMA
from pairmark.domain.errors import NotFound, one_line

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
    """Ledgers in an object store: Parquet objects by ledger digest; scratch in a local folder."""

    def __init__(
        self, root: Path, *, limits: Limits = DEFAULT_LIMITS, objects: ObjectStore | None = None, row_secrets: RowSecrets | None = None
    ) -> None:
        """Everything lies in the folder `root`, except what is given."""
        with availability():
            self.objects: ObjectStore = FileObjectStore(root) if objects is None else objects
        self.row_secrets = RowSecrets(root / "row-secrets") if row_secrets is None else row_secrets
        self._rows_roots: dict[str, str] = {}
        self._limits = limits

    def room(self) -> IO[bytes]:
        """A nameless file for a body on its way in; it vanishes with its last handle."""
        with availability():
            return tempfile.TemporaryFile(dir=self.objects.scratch())

    @contextmanager
    def incoming(self, file: IO[bytes], form: LedgerFormat) -> Iterator[IncomingLedger]:
        """Read and check a ledger that must be in canonical order; unless it is kept, nothing of it stays.

        Raises:
            Malformed: with the line where it is wrong.
            Unavailable: the disk is full or cannot be written.
        """
        chunks = iter(lambda: file.read(CHUNK_BYTES), b"")
        with availability():
            ingested = ingest_ledger(chunks, form, self.objects.scratch(), require_order=True, limits=self._limits)
        try:
            yield IncomingLedger(self.objects, ingested)
        finally:
            ingested.path.unlink(missing_ok=True)

    def frame(self, digest: str) -> pl.DataFrame:
        """The whole ledger, proven to be the one with this digest: verdicts rest on it."""
        with self.fetched(digest) as path:
            frame = read_frame(path)
        running = LedgerDigest()
        for start in range(0, frame.height, GROUP_ROWS):
            running.update(frame[start : start + GROUP_ROWS])
        if running.digest() != digest:
            raise Damaged(f"expected the ledger {digest} under its digest, found {running.digest()}; restore it from a backup")
        return frame

    def outcomes(self, digest: str) -> pl.DataFrame:
        """The columns that numbers are made of, as kept: their digest was proven when a verdict was given."""
        with self.fetched(digest) as path:
            return pl.read_parquet(path, columns=list(OUTCOME_COLUMNS)).cast({name: EPISODE_SCHEMA[name] for name in OUTCOME_COLUMNS})

    def rows_root(self, digest: str) -> str:
        """Root over the ledger's salted rows; worked out once for each process, since it follows from ledger and secret."""
        found = self._rows_roots.get(digest)
        if found is None:
            with self.fetched(digest) as path:
                found = self.row_secrets.root(digest, lines_of(path))
            if len(self._rows_roots) >= KEPT_ROOTS:
                self._rows_roots.clear()
            self._rows_roots[digest] = found
        return found

    def lines(self, digest: str, chosen: EpisodeFilter) -> Iterator[bytes]:
        """Canonical lines, in pieces of bounded size."""

        def pieces(path: Path) -> Iterator[bytes]:
            if not chosen:
                yield from lines_of(path)
                return
            for _, frame in _windows(path, 0, chosen):
                if frame.height:
                    yield canonical_lines(frame)

        return self._held(digest, pieces)

    def page(
        self, digest: str, chosen: EpisodeFilter, start: int, size: int
    ) -> tuple[list[dict[str, Any]], int | None]:
        """Up to `size` episodes from row `start` of the ledger on, and the row where the next page starts, None at the end."""
        rows: list[dict[str, Any]] = []
        with self.fetched(digest) as path:
            if not chosen:
                rows = page_of(path, start, size).to_dicts()
                return rows, start + size if start + size < rows_of(path) else None
            for first, frame in _windows(path, start, chosen):
                found = frame.head(size + 1 - len(rows))
                rows.extend(found.drop(_ROW).to_dicts())
                if len(rows) > size:
                    return rows[:size], first + int(found[_ROW][-1])
        return rows, None

    @contextmanager
    def fetched(self, digest: str) -> Iterator[Path]:
        """A local file with an object's bytes, as long as the context lasts.

        Raises:
            Damaged: there is no such object, or not as it was put.
            Unavailable: the store does not give it.
        """
        with ExitStack() as stack:
            with availability("read from"):
                try:
                    path = stack.enter_context(self.objects.fetched(digest))
                except NotFound:
                    raise Damaged(f"expected ledger {digest} in the store, found none; restore it from a backup") from None
            yield path

    def _held(self, digest: str, pieces: Callable[[Path], Iterator[bytes]]) -> Iterator[bytes]:
        """The pieces of an object that is at hand before the first one is asked for, and let go with the last or the iterator."""
        stack = ExitStack()
        made = pieces(stack.enter_context(self.fetched(digest)))
        weakref.finalize(made, stack.close)
        return made

    def keep_object(self, digest: str, pieces: Iterable[Buffer]) -> None:
        """Keep bytes that a document names by their digest; once, however often they come.

        Raises:
            Damaged: they have another digest.
            Unavailable: they cannot be written.
        """
        running = hashlib.sha256()
        with availability(), tempfile.NamedTemporaryFile(dir=self.objects.scratch(), delete=False) as file:
            path = Path(file.name)
            try:
                for piece in pieces:
                    running.update(piece)
                    file.write(piece)
                file.close()
                if DIGEST_PREFIX + running.hexdigest() != digest:
                    raise Damaged(f"expected bytes with digest {digest}, found {DIGEST_PREFIX}{running.hexdigest()}; report this")
                self.objects.put_if_absent(digest, path)
            finally:
                path.unlink(missing_ok=True)

    def require_writable(self) -> None:
        """Write and remove something small.

        Raises:
            Unavailable: the store cannot be written.
        """
        with availability():
            self.objects.require_writable()
            with tempfile.TemporaryFile(dir=self.objects.scratch()) as probe:
                probe.write(b"writable")
                probe.flush()

    def sweep(self, now: float) -> None:
        """Remove scratch that a killed process left behind, once it is a day old; `now` in seconds since 1970."""
        with availability():
            self.objects.sweep(now - OLD_SECONDS)

    def close(self) -> None:
        """Let go of local copies."""
        self.objects.close()


class IncomingLedger:
    """A ledger that was read and checked, and is not an object yet."""

    def __init__(self, store: ObjectStore, ingested: IngestedLedger) -> None:
        self._store, self._path = store, ingested.path
        self.ledger = ReadLedger(ingested.digest, ingested.count)

    def keep(self) -> None:
        """Make it an object, unless it is one already."""
        with availability():
            self._store.put_if_absent(self.ledger.digest, self._path)


_ROW = "row in its window"


def _windows(path: Path, start: int, chosen: EpisodeFilter) -> Iterator[tuple[int, pl.DataFrame]]:
    """The chosen rows from `start` on, window by window: (first row of the window, rows with their place in it)."""
    for first in range(start, rows_of(path), GROUP_ROWS):
        yield first, page_of(path, first, GROUP_ROWS).with_row_index(_ROW).filter(chosen.holds())


FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def availability(to: str = "write to") -> Iterator[None]:
    """Say in Pairmark's words that the disk of the store is full or does not serve.

    Raises:
        Unavailable: for any failure of the operating system inside.
    """
    try:
        yield
    except OSError as problem:
        number, said = problem.errno, problem.strerror
        if number is None:  # pyarrow keeps the number in its text only
            found = re.search(r"\[errno (\d+)\] ([^\n]+)", str(problem))
            number, said = (None, one_line(str(problem), 200)) if found is None else (int(found[1]), found[2])
        if number in FULL:
            raise Unavailable(
                "store-full", f"expected room in the ledger store, found: {said}", "tell the operator to free space; nothing was stored", 300
            ) from problem
        raise Unavailable(
            "store-unavailable", f"expected to {to} the ledger store, found: {said}", "tell the operator; nothing was stored", 60
        ) from problem

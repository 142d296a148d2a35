"""What every process keeps of a run it records: the journal, what it says, and this process' own session."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.episode import ABORTED
from pairmark.domain.documents.run import Run as RunDocument
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Conflict, NotFound, shown_place
from pairmark.record.beginning import ANNOUNCED, RECORDING, SESSIONS, SUITE
from pairmark.record.cells import Cell, Cells
from pairmark.record.episode import stopped_row
from pairmark.record.journal import JOURNAL, HeldJournal, Journal, SealedMeanwhile, Sync, sealed
from pairmark.record.sealing import Sealed, sealed_in, write_bundle
from pairmark.record.sessions import Session, is_alive
from pairmark.record.state import State


class Recording:
    """One process' part in an unfinished run. The journal is the truth: it is read on before every decision."""

    def __init__(self, folder: Path, sync: Sync) -> None:
        """Take part; what dead processes left open is ended as `cancelled`.

        Raises:
            NotFound: there is no unfinished run.
            Conflict: `sealed`.
        """
        self.folder, self._sync = folder, sync
        path = folder / RECORDING
        try:
            run, self._value = read_document(RunDocument, (path / ANNOUNCED).read_bytes(), file=str(path / ANNOUNCED))
        except FileNotFoundError:
            if sealed_in(folder) is not None:
                raise sealed(folder) from None
            raise NotFound(
                "no-recording", f"expected an unfinished run in {shown_place(folder)}, found none", "begin one with record.Run"
            ) from None
        suite = path / SUITE
        manifest = read_document(SuiteManifest, suite.read_bytes(), file=str(suite))[0] if suite.exists() else None
        self.cells = Cells(run, manifest)
        self.max_attempts = run.retries.max_attempts
        self._journal, self._sessions = Journal(path / JOURNAL), path / SESSIONS
        self._state = State()
        self._lock: threading.RLock = threading.RLock()
        self._session: Session | None = None
        with self._held() as journal:
            self._end_dead(journal)
        _in_this_process.add(self)

    def begin(self, cell: Cell) -> int:
        """Claim a cell; the number of the attempt.

        Raises:
            Conflict: the cell has an outcome, is under way, or has failed as often as it may.
        """
        with self._held() as journal:
            self.cells.check(cell)  # again, now that the ids of all processes are known
            number, attempt = self._state.last(cell)
            if attempt is not None and attempt.status is None and not is_alive(self._sessions, attempt.session):
                self._write_end(journal, stopped_row(cell, number))
            if not self._state.may_start(cell, self.max_attempts):
                raise self._taken(cell)
            return self._write_start(journal, cell)

    def begin_if_free(self, cell: Cell) -> int | None:
        """Claim a cell that nobody is at work on and that has no outcome; null for another."""
        if not self._state.may_start(cell, self.max_attempts):
            return None
        with self._held() as journal:
            return self._write_start(journal, cell) if self._state.may_start(cell, self.max_attempts) else None

    def end(self, row: dict[str, Any]) -> None:
        """Record the end of an attempt that this process began."""
        with self._held() as journal:
            cell = Cell(row["task_id"], row["injection_id"], row["epoch"])
            if self._state.attempts[cell][row["attempt"] - 1].status is not None:
                raise Conflict("ended", f"expected an open attempt at {cell}, found it ended", "record the cell again")
            self._write_end(journal, row)

    def finish(self) -> Sealed:
        """Write the bundle.

        Raises:
            Conflict: an episode is under way.
        """
        done = sealed_in(self.folder)
        if done is None:
            with suppress(SealedMeanwhile), self._held() as journal:
                self._end_dead(journal)
                self._refuse_open()
                done = write_bundle(self.folder, journal, self._state, self._value)
        if done is None and (done := sealed_in(self.folder)) is None:
            raise _another_document(self.folder)
        self.close()
        return done

    def close(self) -> None:
        """Let go: what this process has open is from now on nobody's."""
        with self._lock:
            if self._session is not None:
                self._session.close()
            self._session = None

    def part_with_parent(self) -> None:
        """In a forked child: the parent keeps its lock and its session, the child begins its own."""
        if self._session is not None:
            self._session.leave_to_parent()
        self._lock, self._session = threading.RLock(), None

    @contextmanager
    def _held(self) -> Iterator[HeldJournal]:
        """The journal, locked, and the state as it now is."""
        with self._lock, self._journal.held() as journal:
            if (self.folder / "run.json").exists():
                raise _another_document(self.folder) if sealed_in(self.folder) is None else sealed(self.folder)
            self._catch_up(journal)
            yield journal

    def _catch_up(self, journal: HeldJournal) -> None:
        for entry in journal.since(self._state.offset):
            try:
                self._state.apply(entry)
                if entry.value["event"] == "start":
                    self.cells.note(Cell(entry.value["task_id"], entry.value["injection_id"], entry.value["epoch"]))
            except (KeyError, IndexError, TypeError) as problem:
                raise journal.damaged(entry.offset, f"{type(problem).__name__}: {problem}") from None

    def _write_start(self, journal: HeldJournal, cell: Cell) -> int:
        if self._session is None:
            self._session = Session(self._sessions)
        entry = {"event": "start", "at": now(), "session": self._session.id, **cell._asdict()}
        journal.append(entry, wait=False)
        self._catch_up(journal)
        return self._state.last(cell)[0]

    def _write_end(self, journal: HeldJournal, row: dict[str, Any]) -> None:
        journal.append({"event": "end", "at": now(), "row": row}, wait=self._sync == "episode")
        self._catch_up(journal)

    def _end_dead(self, journal: HeldJournal) -> None:
        for cell, number, attempt in list(self._state.open_attempts()):
            if not is_alive(self._sessions, attempt.session):
                self._write_end(journal, stopped_row(cell, number))

    def _refuse_open(self) -> None:
        still = [str(cell) for cell, _, _ in self._state.open_attempts()]
        if still:
            raise Conflict(
                "still-open",
                f"expected no episode under way, found {len(still)}, first {still[0]}",
                "finish once every process and thread has left its episodes",
            )

    def _taken(self, cell: Cell) -> Conflict:
        _, attempt = self._state.last(cell)
        if attempt is None or attempt.status is None:
            return Conflict("cell-open", f"expected a free cell, found {cell} under way", "leave it to the process that began it")
        if attempt.status in ABORTED:
            return Conflict(
                "attempts-used",
                f"expected at most {self.max_attempts} attempts to fail, found {cell} to have failed as often",
                "begin the run with a higher max_attempts",
            )
        return Conflict("cell-recorded", f"expected a cell without outcome, found {cell} {attempt.status}", "leave it out")


def _another_document(folder: Path) -> Conflict:
    return Conflict(
        "exists",
        f"expected no run document in {shown_place(folder)} before the run is finished, found one that no recording wrote",
        "move it away and finish again: what was recorded is whole",
    )


_in_this_process: weakref.WeakSet[Recording] = weakref.WeakSet()


def _part_with_parent() -> None:
    for recording in _in_this_process:
        recording.part_with_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_part_with_parent)


def now() -> str:
    """The time, to the millisecond, in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")

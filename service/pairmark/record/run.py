"""A run that is being recorded."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.run import Run as RunDocument
from pairmark.domain.errors import Conflict, PairmarkError, shown_place
from pairmark.record.beginning import (
    ANNOUNCED,
    RECORDING,
    ArmName,
    AttackArgument,
    EpochsArgument,
    SuiteArgument,
    announced,
    begin,
    integral,
    manifest_of,
)
from pairmark.record.cells import Cell
from pairmark.record.episode import Episode
from pairmark.record.journal import JOURNAL, Sync, sealed
from pairmark.record.recording import Recording, now
from pairmark.record.sealing import Sealed, sealed_in

Errors = Literal["record", "raise"]
"""What an exception in an episode does once it is recorded: no more (it is logged as a warning), or go on."""

_logger = logging.getLogger("pairmark.record")


class Run:
    """One arm under one system configuration, on disk as it grows.

    Leaving the block without an exception finishes the run; with one, it stays unfinished and `Run.resume` takes it up. May be
    used by many threads, and sent to other processes (a copy there records too, and finishes nothing).
    """

    folder: Path
    _recording: Recording
    _sync: Sync
    _errors: Errors
    _finishes: bool

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        suite: SuiteArgument,
        arm: ArmName,
        attack: AttackArgument = None,
        system: Mapping[str, Any] | None = None,
        harness: Mapping[str, Any] | None = None,
        epochs: EpochsArgument = 1,
        max_attempts: int | None = 1,
        resume: bool = False,
        sync: Sync = "episode",
        errors: Errors = "record",
    ) -> None:
        """Begin a run in a new or empty folder.

        Args:
            folder: becomes the bundle.
            suite: manifest (a file or its JSON object), or `{"name": ..., "digest": ...}`: then no cells are planned.
            arm: `benign` or `attacked` (a baseline is an attacked run).
            attack: its name, or `{"name": ..., "digest": ...}`; none in the benign arm.
            system: as in a run document, as far as known; what is left out is unrecorded.
            harness: likewise.
            epochs: how many, or the seed of each by number (None: none was sent).
            max_attempts: how often a cell may fail with `infra_error`; None for no bound. A stopped episode is no failure.
            resume: take up the run that was begun there with the same words, if there is one.
            sync: when the disk is waited for.
            errors: what an exception in an episode does once it is recorded.

        Raises:
            Malformed: what a run document does not take.
            Conflict: the folder holds something else, a finished run, or a run of other words.
        """
        manifest = manifest_of(suite)
        value = announced(
            suite=suite, manifest=manifest, arm=arm, attack=attack, system=system, harness=harness, epochs=epochs,
            max_attempts=max_attempts, started_at=now(),
        )  # fmt: skip
        path = Path(folder)
        if sealed_in(path) is not None:
            raise sealed(path)
        if not begin(path, value, manifest):
            if not resume:
                raise Conflict(
                    "exists",
                    f"expected a new or empty folder, found an unfinished run in {shown_place(path)}",
                    "resume it (resume=True, or Run.resume), or choose another folder",
                )
            _refuse_other_words(path, value)
        self._attach(path, sync, errors, finishes=True)

    @classmethod
    def resume(cls, folder: str | os.PathLike[str], *, sync: Sync = "episode", errors: Errors = "record") -> Self:
        """Take up an unfinished run; what dead processes left open is `cancelled`.

        Raises:
            NotFound: there is no unfinished run.
        """
        run = cls.__new__(cls)
        run._attach(Path(folder), sync, errors, finishes=True)
        return run

    @classmethod
    def join(cls, folder: str | os.PathLike[str], *, sync: Sync = "episode", errors: Errors = "record") -> Self:
        """Record into a run that another process began and will finish: leaving the block finishes nothing.

        Raises:
            NotFound: there is no unfinished run.
        """
        run = cls.__new__(cls)
        run._attach(Path(folder), sync, errors, finishes=False)
        return run

    def _attach(self, folder: Path, sync: Sync, errors: Errors, *, finishes: bool) -> None:
        if sync not in ("episode", "finish") or errors not in ("record", "raise"):
            raise ValueError(f"expected sync episode or finish and errors record or raise, found {sync!r} and {errors!r}")
        self.folder, self._sync, self._errors, self._finishes = folder, sync, errors, finishes
        self._recording = Recording(folder, sync)

    def episode(self, task_id: str, injection_id: str | None = None, epoch: int = 1) -> Episode:
        """The next attempt at a cell; it begins where its `with` block does.

        Raises:
            Malformed: no run of this arm and suite can hold the cell.
        """
        cell = Cell(task_id, injection_id, integral(epoch))
        self._recording.cells.check(cell)
        return Episode(self._recording, cell, self._goes_on)

    def remaining(self) -> Iterator[Episode]:
        """An episode of every planned cell without an outcome that nobody is at work on; failed ones come again while they may.

        Each is begun as it is handed out, so that processes can share the work. One that is not used is `cancelled`. Cells
        that other processes have begun are left to them.

        Raises:
            Malformed: the run was begun without a manifest.
        """
        most = self._recording.max_attempts
        offered: Counter[Cell] = Counter()
        found = True
        while found:
            found = False
            for cell in self._recording.cells.planned():
                if offered[cell] == most or (attempt := self._recording.begin_if_free(cell)) is None:
                    continue
                found, offered[cell] = True, offered[cell] + 1
                episode = Episode(self._recording, cell, self._goes_on, attempt)
                try:
                    yield episode
                finally:
                    episode.drop()

    def finish(self) -> Sealed:
        """Write the bundle: `run.json` and `episodes.jsonl`. Cells that were never begun are not in it. Done twice, it is the same.

        Raises:
            Conflict: an episode is still under way.
        """
        return self._recording.finish()

    def close(self) -> None:
        """Let go of the run without finishing it."""
        self._recording.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._finishes:
            self.finish()
        else:
            self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _sent, (str(self.folder), self._sync, self._errors)

    def _goes_on(self, problem: Exception, cell: Cell) -> bool:
        """Whether the program goes on after an exception in an episode; never after a wrong use of this package."""
        if self._errors == "raise" or isinstance(problem, PairmarkError):
            return False
        _logger.warning("recorded as infra_error: %s", cell, exc_info=problem)
        return True


def seal(folder: str | os.PathLike[str]) -> Sealed:
    """Finish a run as it stands, from outside: what dead processes left open is `cancelled`. Done twice, it is the same.

    Raises:
        NotFound: there is no run.
        Conflict: a process is still at work on it.
    """
    done = sealed_in(Path(folder))
    return done if done is not None else Run.resume(folder).finish()


_joined: dict[tuple[str, Sync, Errors, int, int], Run] = {}


def _sent(folder: str, sync: Sync, errors: Errors) -> Run:
    """What a run becomes in another process: one part in it, however often it is sent."""
    with suppress(FileNotFoundError):
        key = (folder, sync, errors, os.getpid(), (Path(folder) / RECORDING / JOURNAL).stat().st_ino)
        if key not in _joined:
            _joined[key] = Run.join(folder, sync=sync, errors=errors)
        return _joined[key]
    return Run.join(folder, sync=sync, errors=errors)


def _refuse_other_words(folder: Path, value: Mapping[str, Any]) -> None:
    path = folder / RECORDING / ANNOUNCED
    _, begun = read_document(RunDocument, path.read_bytes(), file=str(path))
    other = [key for key in value if key != "started_at" and value[key] != begun[key]]
    if other:
        raise Conflict(
            "other-run",
            f"expected the run that was begun in {shown_place(folder)}, found another {', '.join(other)}",
            "give the same words, or choose another folder",
        )

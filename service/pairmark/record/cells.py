"""Which cells a run may hold, and which the suite plans."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from pairmark.domain.documents.run import Run as RunDocument
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed, shown

MAX_ID_CHARACTERS = 1024


class Cell(NamedTuple):
    """One planned (task, injection, epoch); a benign cell has no injection."""

    task_id: str
    injection_id: str | None
    epoch: int

    def __str__(self) -> str:
        return " × ".join(shown(part) for part in self if part is not None)


class Cells:
    """What cells there may be: of the run's arm and epochs and, where a manifest is known, of its plan."""

    def __init__(self, run: RunDocument, manifest: SuiteManifest | None) -> None:
        self._benign = run.arm == "benign"
        self._epochs = tuple(epoch.epoch for epoch in run.epochs)
        self._manifest = manifest
        self._planned = None if manifest is None else frozenset(self._pairs(manifest))
        self._normal: dict[str, str] = {}

    def planned(self) -> Iterator[Cell]:
        """Every planned cell, by epoch, then in the order of the manifest.

        Raises:
            Malformed: the run was begun without a manifest.
        """
        if self._manifest is None:
            raise Malformed(
                "no-manifest",
                "expected a suite manifest to plan by, found only the suite's name and digest",
                remedy="begin the run with suite=FILE, or name each cell with `run.episode`",
            )
        for epoch in self._epochs:
            for task, injection in self._pairs(self._manifest):
                yield Cell(task, injection, epoch)

    def check(self, cell: Cell) -> None:
        """Refuse a cell that no run of this arm and suite can hold.

        Raises:
            Malformed: naming the part that is wrong.
        """
        for name, value in (("task_id", cell.task_id), ("injection_id", cell.injection_id)):
            if value is not None:
                self._check_id(name, value)
        if (cell.injection_id is None) != self._benign:
            expected = "no injection in a benign run" if self._benign else "an injection in every cell of an attacked run"
            raise _refused("arm-shape", f"expected {expected}, found {cell}", "record each arm as a run of its own")
        given: object = cell.epoch  # other people's code may hand over anything
        if isinstance(given, bool) or not isinstance(given, int) or given not in self._epochs:
            listed = ", ".join(map(str, self._epochs[:20]))
            raise _refused("unknown-cell", f"expected an epoch of {listed}, found {shown(cell.epoch)}", "begin the run with its epochs")
        if self._planned is not None and (cell.task_id, cell.injection_id) not in self._planned:
            raise _refused("unknown-cell", f"expected a cell that the suite plans, found {cell}", "name it as the manifest does")

    def note(self, cell: Cell) -> None:
        """A cell that is recorded, by whichever process: its spelling of the ids is the one that holds."""
        for name, value in (("task_id", cell.task_id), ("injection_id", cell.injection_id)):
            if self._planned is None and isinstance(value, str) and not value.isascii():
                self._normal[_normal(name, value)] = value

    def _check_id(self, name: str, value: object) -> None:
        if (
            not isinstance(value, str)
            or not 0 < len(value) <= MAX_ID_CHARACTERS
            or any(c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in value)
        ):
            raise _refused(
                "invalid-value",
                f"expected `{name}` as text of 1 to {MAX_ID_CHARACTERS} characters without control characters, found {shown(value)}",
                "give the id as text",
            )
        if self._planned is None and not value.isascii():
            earlier = self._normal.setdefault(_normal(name, value), value)
            if earlier != value:
                raise _refused(
                    "id-collision",
                    f"expected ids that stay distinct under Unicode normalisation, found {value!a} after {earlier!a}",
                    "use one spelling of the id",
                )

    def _pairs(self, manifest: SuiteManifest) -> Iterator[tuple[str, str | None]]:
        if self._benign:
            yield from ((task.id, None) for task in manifest.tasks)
        elif manifest.grid == "full":
            for task in manifest.tasks:
                yield from ((task.id, item.id) for item in manifest.injections if item.group == task.group)
        else:
            yield from ((cell.task, cell.injection) for cell in manifest.grid)


def _normal(name: str, value: str) -> str:
    return f"{name} {unicodedata.normalize('NFC', value)}"


def _refused(code: str, message: str, remedy: str) -> Malformed:
    return Malformed(code, message, remedy=remedy)

"""The episodes of an arm as a table, put together part by part, so that no more than a part is ever held as anything else."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from pairmark.domain.episodes import EPISODE_SCHEMA
from pairmark.importers.agentdojo.facts import Facts
from pairmark.importers.agentdojo.folder import SUFFIX, Shelf
from pairmark.importers.agentdojo.part import Part
from pairmark.importers.agentdojo.sameness import OneRun
from pairmark.importers.agentdojo.several import Helpers, parts_of
from pairmark.importers.base import PLACE_SCHEMA, Unreadable

_SCHEMA = {**EPISODE_SCHEMA, **PLACE_SCHEMA}
Name = Callable[[str, str], str]
"""The id that a harness suite's task or injection has in the manifest."""


@dataclass(frozen=True)
class Ledger:
    """`frame`: rows in the order of the files, with the columns of an episode and of its place. `one_run`: has seen every file."""

    frame: pl.DataFrame
    unreadable: tuple[Unreadable, ...]
    one_run: OneRun


def read_ledger(shelves: Sequence[tuple[int, Shelf]], name: Name, one_run: OneRun, helpers: Helpers, *, attacked: bool) -> Ledger:
    """Read the files of all shelves, each with its epoch; there is at least one."""
    parts = parts_of([shelf for _, shelf in shelves])
    epochs = [epoch for epoch, shelf in shelves for _ in shelf.names]
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + sum([len(shelf.names) for shelf in part]))
    frames: dict[int, pl.DataFrame] = {}
    unreadable: dict[int, list[Unreadable]] = {}
    facts: dict[int, list[tuple[Facts, int, str]]] = {}

    def keep(number: int, part: Part) -> None:
        start, end = starts[number], starts[number + 1]
        frame = frames[number] = _frame(parts[number], part, epochs[start:end], name, attacked=attacked)
        unreadable[number] = [Unreadable(frame["file"][row], reason) for row, reason in part.unreadable]
        facts[number] = [(stated, count, frame["file"][row]) for stated, count, row in part.facts]

    helpers.read(parts, attacked=attacked, keep=keep)
    order = range(len(parts))
    for number in order:
        for stated, count, first in facts[number]:
            one_run.add(stated, count, first)
    return Ledger(
        pl.concat([frames[number] for number in order]), tuple([each for number in order for each in unreadable[number]]), one_run
    )


def _frame(shelves: Sequence[Shelf], part: Part, epochs: Sequence[int], name: Name, *, attacked: bool) -> pl.DataFrame:
    tasks: list[str] = []
    injections: list[str | None] = []
    files: list[str] = []
    for shelf in shelves:
        tasks += [name(shelf.suite, shelf.task)] * len(shelf.names)
        injections += [name(shelf.suite, file.removesuffix(SUFFIX)) if attacked else None for file in shelf.names]
        files += [f"{shelf.folder}{os.sep}{file}" for file in shelf.names]
    columns = {"task_id": tasks, "injection_id": injections, "epoch": epochs, "file": files, **part.columns}
    unheld = [None] * len(files)
    return pl.DataFrame(
        {column: columns.get(column, unheld) for column in _SCHEMA} | {"attempt": [1] * len(files)}, schema=_SCHEMA, strict=True
    )

"""A part of an arm: what the files of some shelves show, as columns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pairmark.domain.errors import one_line
from pairmark.importers.agentdojo.episodes import COLUMNS, aborted_row, row_of
from pairmark.importers.agentdojo.facts import Facts, facts_of
from pairmark.importers.agentdojo.folder import NO_ATTACK, OUTWARD, SUFFIX, Shelf
from pairmark.importers.agentdojo.record import Record, UnreadableRecord, read_record


@dataclass
class Part:
    """Columns of the episodes in the order of the files; of unreadable ones, the row and the reason; and, of each set of facts
    on which the files of a run must agree, how many files state it and the row of the first.
    """

    columns: dict[str, Sequence[Any]]
    unreadable: list[tuple[int, str]] = field(default_factory=list)
    facts: list[tuple[Facts, int, int]] = field(default_factory=list)


def read_part(shelves: Sequence[Shelf], *, attacked: bool) -> Part:
    """What the files of the shelves show. One file is held at a time."""
    rows: list[tuple[Any, ...]] = []
    unreadable: list[tuple[int, str]] = []
    stated: dict[Facts, list[int]] = {}
    for shelf in shelves:
        for name in shelf.names:
            try:
                record = _read(shelf, name)
            except UnreadableRecord as problem:
                reason = one_line(str(problem))
                unreadable.append((len(rows), reason))
                rows.append(aborted_row(reason))
                continue
            facts = facts_of(record)
            if facts in stated:
                stated[facts][0] += 1
            else:
                stated[facts] = [1, len(rows)]
            rows.append(row_of(record, attacked=attacked))
    columns: dict[str, Sequence[Any]] = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True)) if rows else {}
    return Part(columns, unreadable, [(facts, count, first) for facts, (count, first) in stated.items()])


def _read(shelf: Shelf, name: str) -> Record:
    if name in shelf.outward:
        raise UnreadableRecord(OUTWARD)
    record = read_record(f"{shelf.folder}{os.sep}{name}")
    stated = (record.suite, record.task, record.attack or NO_ATTACK, record.injection or NO_ATTACK)
    lying = (shelf.suite, shelf.task, shelf.attack, name.removesuffix(SUFFIX))
    if stated != lying:
        raise UnreadableRecord(f"expected the record of {'/'.join(lying)} here, found that of {'/'.join(stated)}")
    return record

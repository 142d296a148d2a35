"""Reading the logs of a run into rows, sample by sample: which are of the arm, which attempt each is, and what was never run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pairmark.domain.errors import Malformed, shown, shown_place
from pairmark.importers.base import ArmName, Unreadable
from pairmark.importers.inspect.episodes import Cell, Ids, episode_of, unread_row
from pairmark.importers.inspect.explained import Readings
from pairmark.importers.inspect.header import attack_of, sandbox_text
from pairmark.importers.inspect.limits import LIMITS, too_large
from pairmark.importers.inspect.log_file import Key, Log, ReadSample
from pairmark.importers.inspect.mapping import InspectMapping
from pairmark.importers.inspect.one_run import Evaluation, epochs_before
from pairmark.importers.inspect.outcome import NOT_IN_LOG, edits_of
from pairmark.importers.inspect.payload import Wording, wordings
from pairmark.importers.inspect.search import BEYOND
from pairmark.importers.inspect.sent import Sent

LISTED = 20
"""How many cells a note names; it counts all."""


@dataclass
class Told:
    """Samples that a note is about: counted, and the first of them named."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.count += 1
        if len(self.first) < LISTED:
            self.first.append(text)

    def __str__(self) -> str:
        more = self.count - len(self.first)
        return "; ".join(self.first) + (f" and {more} more" if more else "")


@dataclass
class Collected:
    """What the logs hold of the arm; `used`: the logs that hold any of it. A row has the log's name beside its columns, as `file`.

    `evaluations`: those with a sample that was not set aside, in order. Only these are epochs of the arm.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    used: set[Path] = field(default_factory=set)
    evaluations: list[Evaluation] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)
    set_aside: Counter[str] = field(default_factory=Counter)
    read: Readings = field(default_factory=Readings)
    sent: Sent = field(default_factory=Sent)
    attacks: dict[tuple[str | None, str | None], None] = field(default_factory=dict)
    sandboxes: dict[str, None] = field(default_factory=dict)
    edited: Told = field(default_factory=Told)
    invalidated: Told = field(default_factory=Told)
    fallbacks: Told = field(default_factory=Told)
    unnamed: Told = field(default_factory=Told)
    not_looked_for: Told = field(default_factory=Told)
    repeated: int = 0
    never_run: int = 0
    unrecorded: int = 0


class Collector:
    """Reads evaluations one after the other."""

    def __init__(self, mapping: InspectMapping, ids: Ids, arm: ArmName, attack: str | None, epoch: int | None) -> None:
        self._mapping, self._ids, self._arm, self._attack, self._epoch = mapping, ids, arm, attack, epoch
        self.found = Collected()
        self._seen: dict[Any, Path] = {}
        self._before = 0

    def read(self, evaluation: Evaluation) -> None:
        """All samples of an evaluation's logs, then the open cells: planned, and in none of them."""
        cells: dict[str | int, Cell] = {}
        attempts: dict[Key, list[str]] = {}
        uuids: set[str] = set()
        marks: dict[Any, Path] = {}
        attacks = [attack_of(log.header, self._mapping) for log in evaluation.logs]
        is_other = self._is_of_another_attack(evaluation, [name for name, _ in attacks])
        for log, attack in zip(evaluation.logs, attacks, strict=True):
            words = wordings(log.header, self._mapping)
            here: dict[Key, list[str]] = {}
            for read in log.samples():
                cell = self._cell(read, cells)
                if (is_other or (read.key is not None and cell is not None)) and not self._is_of_arm(cell, is_other):
                    if read.key is not None:
                        attempts.setdefault(read.key, [])
                    continue
                for mark in _marks(read.sample):
                    if mark in self._seen:
                        raise _copied(read, log.path, self._seen[mark])
                    marks[mark] = log.path
                uuid = getattr(read.sample, "uuid", None)
                if uuid is not None and uuid in uuids:
                    self.found.set_aside["samples that a later attempt of the evaluation took over"] += 1
                    continue
                if uuid is not None:
                    uuids.add(uuid)
                before = attempts.get(read.key, []) if read.key is not None else []
                rows = self._rows(log, read, cell, self._offset(evaluation), words, before)
                if read.key is not None:
                    here.setdefault(read.key, []).extend(row.get("error") or "" for row in rows)
                if rows and self._arm == "attacked":
                    self.found.attacks.setdefault(attack)
                self._keep(rows, log)
            for key, errors in here.items():
                attempts.setdefault(key, []).extend(errors)
        self._seen.update(marks)
        if self._open_cells(evaluation, cells, attempts, is_other) and self._arm == "attacked":
            self.found.attacks.update(dict.fromkeys(attacks))

    def _is_of_another_attack(self, evaluation: Evaluation, names: list[str | None]) -> bool:
        """Whether the logs of an evaluation name another attack than the one asked for. What never ran is in none of them: its attack
        is that of all.

        Raises:
            Malformed: some do and some do not.
        """
        others = [self._attack is not None and name is not None and name != self._attack for name in names]
        if any(others) and not all(others):
            at = others.index(True)
            raise Malformed(
                "mixed-attacks",
                f"expected one attack in the logs of one evaluation, {shown(self._attack)}, found {shown(names[at])}",
                str(evaluation.logs[at].path),
                remedy="leave the log of the other attack out",
            )
        return all(others)

    def _offset(self, evaluation: Evaluation) -> int:
        """What is added to the epoch numbers of an evaluation of which something is kept."""
        kept = self.found.evaluations
        if not kept or kept[-1] is not evaluation:
            self._before = epochs_before(kept, evaluation)
            kept.append(evaluation)
        return self._before

    def _cell(self, read: ReadSample, cells: dict[str | int, Cell]) -> Cell | None:
        """The cell of a sample that was read; of one that was not, what its id or another epoch of it shows."""
        if read.sample is not None:
            cell = self._ids.cell_of(read.sample, self._mapping)
            if cell is not None:
                cells.setdefault(read.sample.id, cell)
            return cell
        if read.key is None:
            return None
        return cells.get(read.key[0]) or self._ids.cell_of({"id": read.key[0]}, self._mapping)

    def _is_of_arm(self, cell: Cell | None, is_other_attack: bool) -> bool:
        """Whether it is; what is not is counted. Of a log of another attack a sample is aside even where its cell is not known."""
        if cell is None:
            kind = "samples of other attacks"
        elif cell.group is not None and cell.group not in self._ids.groups:
            kind = "samples of other suites"
        elif (cell.injection_id is not None) != (self._arm == "attacked"):
            kind = "samples of the other arm"
        elif is_other_attack and self._arm == "attacked":
            kind = "samples of other attacks"
        else:
            return True
        self.found.set_aside[kind] += 1
        return False

    def _rows(
        self, log: Log, read: ReadSample, cell: Cell | None, offset: int, words: tuple[Wording, ...], before: list[str]
    ) -> list[dict[str, Any]]:
        problem = read.problem
        if problem is None and cell is None:
            problem = f"expected a task id where the mapping says, found none in sample {shown(read.key and read.key[0])}"
        if problem is None and read.key is not None and not 1 <= read.key[1] <= LIMITS.members:
            problem = f"expected an epoch from 1 to {LIMITS.members}, found {read.key[1]}"
            read = ReadSample(read.place, None)
        if problem is not None or cell is None or read.key is None:
            self.found.unreadable.append(Unreadable(read.place, problem or "unknown sample", str(log.path)))
            if cell is None or read.key is None:
                return []
            return [unread_row(cell, self._number(read.key[1], offset), f"unreadable record: {problem}", "(unreadable)", len(before) + 1)]
        sample: Any = read.sample
        episode = episode_of(sample, cell, self._number(sample.epoch, offset), self._mapping, words, before)
        self._tell(sample, cell, episode)
        return list(episode.rows)

    def _keep(self, rows: list[dict[str, Any]], log: Log) -> None:
        if rows:
            self.found.used.add(log.path)
        for row in rows:
            self.found.read.add(row.pop("read"), row)
            self.found.rows.append({**row, "file": str(log.path)})

    def _number(self, epoch: int, offset: int) -> int:
        return self._epoch if self._epoch is not None else epoch + offset

    def _tell(self, sample: Any, cell: Cell, episode: Any) -> None:
        """What a person should know of a sample beside its row."""
        found, row = self.found, episode.rows[-1]
        name = f"{cell.task_id}{f' × {cell.injection_id}' if cell.injection_id is not None else ''}, epoch {row['epoch']}"
        found.sent.add(episode.conversation)
        found.repeated += len(episode.rows) - 1
        found.unrecorded += not episode.conversation.is_recorded
        if sample.sandbox is not None:
            found.sandboxes.setdefault(sandbox_text(sample.sandbox))
        for edit in edits_of(sample, self._mapping):
            found.edited.add(f"{name}: {edit}")
        if sample.invalidation is not None:
            found.invalidated.add(f"{name} by {sample.invalidation.author}")
        if len(episode.conversation.served) > 1 or sample.model_fallbacks:
            served = [*episode.conversation.served, *(f"fallback {f.fallback_model}" for f in sample.model_fallbacks or ())]
            found.fallbacks.add(f"{name}: {', '.join(dict.fromkeys(served))}")
        if episode.looked is not None and episode.looked.why == BEYOND:
            found.not_looked_for.add(name)
        for column, value in episode.outcome.unnamed.items():
            found.unnamed.add(f"{name}: {column} {value}")

    def _open_cells(
        self, evaluation: Evaluation, cells: dict[str | int, Cell], attempts: dict[Key, list[str]], is_other_attack: bool
    ) -> bool:
        """Keep the cells that were planned and never run; whether there are any."""
        last, before = evaluation.logs[-1], self.found.never_run
        for key in _planned(evaluation):
            if key in attempts:
                continue
            read = ReadSample(f"{last.path}#{key[0]}, epoch {key[1]}", key)
            cell = self._cell(read, cells)
            if is_other_attack and cell is None:
                self._is_of_arm(cell, is_other_attack)
            elif cell is None:
                why = f"{NOT_IN_LOG}; no place in the mapping says which cell it is"
                self.found.unreadable.append(Unreadable(read.place, why, str(last.path)))
            elif self._is_of_arm(cell, is_other_attack):
                self.found.never_run += 1
                number = self._number(key[1], self._offset(evaluation))
                self._keep([unread_row(cell, number, NOT_IN_LOG, "(not in the log)")], last)
        return self.found.never_run > before


def _marks(sample: Any) -> Iterator[Any]:
    """What no two samples share that were run each for itself: their id, and the moment they began with the time they took."""
    if sample is None:
        return
    if getattr(sample, "uuid", None) is not None:
        yield sample.uuid
    if getattr(sample, "started_at", None) is not None and sample.total_time is not None:
        yield str(sample.started_at), sample.total_time, str(sample.id)


def _copied(read: ReadSample, path: Path, earlier: Path) -> Malformed:
    return Malformed(
        "copied-epoch", f"expected evaluations that were run each for itself, found {shown_place(read.place)} to be a sample of {earlier} again",
        str(path), remedy="leave one of the two logs out: a copy is no further evidence",
    )  # fmt: skip


def _planned(evaluation: Evaluation) -> Iterator[Key]:
    count = len(evaluation.sample_ids or ()) * evaluation.epochs
    if count > LIMITS.members:
        raise too_large("members", LIMITS.members, str(evaluation.logs[0].path), "planned samples")
    for sample in evaluation.sample_ids or ():
        for epoch in range(1, evaluation.epochs + 1):
            yield sample, epoch


def the_attack(found: Collected, attack: str | None, log: Log) -> dict[str, Any]:
    """Name and digest of the one attack.

    Raises:
        Malformed: the logs are of several, or do not name it and nobody did.
    """
    names = sorted({name for name, _ in found.attacks if name is not None})
    digests = {digest for _, digest in found.attacks}
    if attack is None and len(names) != 1:
        raise Malformed(
            "mixed-attacks" if names else "no-attack",
            f"expected one attack, found {', '.join(map(shown, names)) or 'no name of one'}: two attacks are two runs",
            str(log.path),
            remedy="name one with --attack",
        )
    return {"name": attack if attack is not None else names[0], "digest": next(iter(digests)) if len(digests) == 1 else None}

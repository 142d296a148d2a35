"""What the journal says so far: attempts by cell. Keeps no episode, only where each stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pairmark.domain.documents.episode import ABORTED, Status
from pairmark.record.cells import Cell
from pairmark.record.journal import Entry


@dataclass(slots=True)
class Attempt:
    """One attempt at a cell. `status` is null while it is open; `session` is the process that began it."""

    session: str
    status: Status | None = None
    offset: int = 0
    length: int = 0


class State:
    """Grows with the journal; `offset` is how far it has been read."""

    def __init__(self) -> None:
        self.offset = 0
        self.last_moment: str | None = None
        self.attempts: dict[Cell, list[Attempt]] = {}

    def apply(self, entry: Entry) -> None:
        """Take one line in."""
        value = entry.value
        if value["event"] == "start":
            cell = Cell(value["task_id"], value["injection_id"], value["epoch"])
            self.attempts.setdefault(cell, []).append(Attempt(value["session"]))
        else:
            row = value["row"]
            attempt = self.attempts[Cell(row["task_id"], row["injection_id"], row["epoch"])][row["attempt"] - 1]
            attempt.status, attempt.offset, attempt.length = row["status"], entry.offset, entry.length
        self.last_moment = max(self.last_moment or value["at"], value["at"])  # a clock may be set back
        self.offset = entry.offset + entry.length

    def last(self, cell: Cell) -> tuple[int, Attempt | None]:
        """Number of attempts, and the last."""
        attempts = self.attempts.get(cell)
        return (len(attempts), attempts[-1]) if attempts else (0, None)

    def failures(self, cell: Cell) -> int:
        """Attempts that the infrastructure failed; being stopped is no failure."""
        return sum(attempt.status == "infra_error" for attempt in self.attempts.get(cell, ()))

    def may_start(self, cell: Cell, max_attempts: int | None) -> bool:
        """Whether the cell has no outcome, nobody at work, and an attempt left."""
        _, attempt = self.last(cell)
        if attempt is None:
            return True
        return attempt.status in ABORTED and (max_attempts is None or self.failures(cell) < max_attempts)

    def open_attempts(self) -> Iterator[tuple[Cell, int, Attempt]]:
        """Those begun and not ended; only a cell's last can be."""
        for cell, attempts in self.attempts.items():
            if attempts[-1].status is None:
                yield cell, len(attempts), attempts[-1]

"""The planned cells of a suite, as integer codes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pairmark.domain.documents.suite import SuiteManifest

Codes = NDArray[np.int64]

DENSE_LIMIT = 4_000_000
"""Entries up to which a look-up is a table."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Planned cells without epochs. Codes index `suite.tasks`, `suite.injections` and `groups`.

    A benign plan is every task; an attacked plan is `cell_task[k], cell_injection[k]` for k < `cells`,
    sorted by (task code, injection code).
    """

    suite: SuiteManifest

    @cached_property
    def task_ids(self) -> tuple[str, ...]:
        return tuple(task.id for task in self.suite.tasks)

    @cached_property
    def injection_ids(self) -> tuple[str, ...]:
        return tuple(injection.id for injection in self.suite.injections)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Group names of tasks, in order of first appearance."""
        return tuple(dict.fromkeys(task.group for task in self.suite.tasks))

    @cached_property
    def task_group(self) -> Codes:
        """Group code of every task."""
        code = {name: index for index, name in enumerate(self.groups)}
        return np.array([code[task.group] for task in self.suite.tasks], dtype=np.int64)

    @cached_property
    def _cells(self) -> tuple[Codes, Codes]:
        if self.suite.grid == "full":
            of_group: dict[str, list[int]] = {}
            for index, injection in enumerate(self.suite.injections):
                of_group.setdefault(injection.group, []).append(index)
            met = {group: np.array(codes, dtype=np.int64) for group, codes in of_group.items()}
            none = np.zeros(0, dtype=np.int64)
            mine = [met.get(task.group, none) for task in self.suite.tasks]
            return np.repeat(np.arange(len(mine)), [len(codes) for codes in mine]), np.concatenate(mine)
        task_code = {name: index for index, name in enumerate(self.task_ids)}
        injection_code = {name: index for index, name in enumerate(self.injection_ids)}
        pairs = sorted((task_code[cell.task], injection_code[cell.injection]) for cell in self.suite.grid)
        both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return both[:, 0].copy(), both[:, 1].copy()

    @property
    def cell_task(self) -> Codes:
        """Task code of every attacked cell."""
        return self._cells[0]

    @property
    def cell_injection(self) -> Codes:
        """Injection code of every attacked cell."""
        return self._cells[1]

    @property
    def cells(self) -> int:
        """Number of attacked cells."""
        return len(self._cells[0])

    @property
    def tasks(self) -> int:
        """Number of tasks, which is the number of benign cells."""
        return len(self.suite.tasks)

    def attacked_cell_of(self, task: Codes, injection: Codes) -> Codes:
        """Index of each (task, injection) in the attacked plan, -1 where it is not planned (negative codes included)."""
        width = len(self.suite.injections) + 1
        met = (task >= 0) & (injection >= 0)
        if self.suite.grid == "full":
            if not bool(met.all()):
                task, injection = np.where(met, task, 0), np.where(met, injection, 0)
            return self._in_full_grid(task, injection, met)
        if self._table is not None:
            return np.where(met, self._table[np.where(met, task * width + injection, 0)], -1)
        wanted = np.where(met, task * width + injection, -1)
        keys = self._keys
        if len(keys) == 0:
            return np.full(len(task), -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[place] == wanted, place, -1)

    def _in_full_grid(self, task: Codes, injection: Codes, met: NDArray[np.bool_]) -> Codes:
        """The same for codes of the manifest: every task meets the injections of its group, in their order."""
        if not len(self.suite.injections):
            return np.full(len(task), -1, dtype=np.int64)
        first, group, rank = self._full_grid
        found = first[task]
        found += rank[injection]
        planned = self.task_group[task] == group[injection]
        planned &= met
        if not bool(planned.all()):
            found[~planned] = -1
        return found

    @cached_property
    def _full_grid(self) -> tuple[Codes, Codes, Codes]:
        """First cell of each task; of each injection its group's code, -1 where no task is of it, and its place there."""
        code = {name: index for index, name in enumerate(self.groups)}
        seen: dict[str, int] = {}
        rank, group = [], []
        for injection in self.suite.injections:
            rank.append(seen.get(injection.group, 0))
            group.append(code.get(injection.group, -1))
            seen[injection.group] = rank[-1] + 1
        return (
            np.searchsorted(self.cell_task, np.arange(self.tasks)),
            np.array(group, dtype=np.int64),
            np.array(rank, dtype=np.int64),
        )

    @cached_property
    def _keys(self) -> Codes:
        """One number per attacked cell, ascending."""
        return self.cell_task * (len(self.suite.injections) + 1) + self.cell_injection

    @cached_property
    def _table(self) -> Codes | None:
        """Index of the attacked cell under its key, -1 where there is none; None where the table would be large."""
        size = self.tasks * (len(self.suite.injections) + 1)
        if size > DENSE_LIMIT:
            return None
        table = np.full(size, -1, dtype=np.int64)
        table[self._keys] = np.arange(self.cells)
        return table

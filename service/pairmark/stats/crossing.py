"""Which cell belongs to which task, injection and group, and what each cell weighs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from pairmark.stats.arrays import FloatArray, IntArray, compact, integers, paired_codes, same_length

Weighting: TypeAlias = Literal["task", "cell", "group"]

WEIGHTINGS: tuple[Weighting, ...] = get_args(Weighting)

_Scalar = TypeVar("_Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class Crossing:
    """Cells (task, injection) in groups, as codes; one row per cell, epochs already averaged.

    `task`, `injection` and `group` have one code per cell **in canonical order** (by task code, then injection code),
    so that no result depends on the order in which the caller holds its cells. `arranged` brings a caller's column
    into that order. An injection id met in two groups is two injections: groups are strata.
    """

    task: IntArray
    injection: IntArray
    group: IntArray
    task_group: IntArray
    """Group of each task, shape (tasks,)."""
    injection_group: IntArray
    """Group of each injection, shape (injections,)."""
    group_count: int
    order: IntArray | None
    """Rows of the caller in canonical order; None where the caller's order is canonical."""

    @classmethod
    def of(cls, task: npt.ArrayLike, injection: npt.ArrayLike, group: npt.ArrayLike) -> Self:
        """Build from one integer code per cell; codes need not be dense.

        Raises ValueError for no cells at all, for a (task, injection) met twice, for a task in two groups, and for
        columns that differ in length or are not integers.
        """
        tasks = integers(task, "task")
        injections = integers(injection, "injection")
        groups = integers(group, "group")
        same_length(tasks.size, injections.size, "injection")
        same_length(tasks.size, groups.size, "group")
        if not tasks.size:
            raise ValueError("expected at least one cell, found none: every number over no cells is undefined")
        tasks, task_count = compact(tasks)
        injections, injection_count = compact(injections)
        groups, group_count = compact(groups)

        cells = paired_codes(tasks, injections, injection_count)
        order = None
        if not bool(np.all(cells[1:] > cells[:-1])):
            order = np.argsort(cells, kind="stable")
            cells, tasks, injections, groups = cells[order], tasks[order], injections[order], groups[order]
            twice = np.flatnonzero(cells[1:] == cells[:-1])
            if twice.size:
                rows = order[twice[0]], order[twice[0] + 1]
                raise ValueError(f"expected each (task, injection) once, found one in rows {rows[0]} and {rows[1]}")
        task_group = np.empty(task_count, dtype=np.int64)
        task_group[tasks] = groups
        astray = np.flatnonzero(task_group[tasks] != groups)
        if astray.size:
            row = int(astray[0] if order is None else order[astray[0]])
            raise ValueError(f"expected each task in one group, found the task of row {row} in two")

        injections, injection_count = compact(paired_codes(groups, injections, injection_count))
        injection_group = np.empty(injection_count, dtype=np.int64)
        injection_group[injections] = groups
        return cls(tasks, injections, groups, task_group, injection_group, group_count, order)

    @property
    def cell_count(self) -> int:
        """Number of cells, at least 1."""
        return int(self.task.size)

    @property
    def task_count(self) -> int:
        """Number of tasks, at least 1."""
        return int(self.task_group.size)

    @property
    def injection_count(self) -> int:
        """Number of (group, injection) pairs, at least 1."""
        return int(self.injection_group.size)

    def arranged(self, column: npt.NDArray[_Scalar], name: str = "column") -> npt.NDArray[_Scalar]:
        """A caller's column in canonical order. Raises ValueError where it has not one value per cell."""
        same_length(self.cell_count, column.size, name)
        return column if self.order is None else column[self.order]

    def cells_per_task(self) -> IntArray:
        """Number of cells of each task, shape (tasks,)."""
        return np.bincount(self.task, minlength=self.task_count)

    def cells_per_group(self) -> IntArray:
        """Number of cells of each group, shape (groups,)."""
        return np.bincount(self.group, minlength=self.group_count)

    def tasks_per_group(self) -> IntArray:
        """Number of tasks of each group, shape (groups,)."""
        return np.bincount(self.task_group, minlength=self.group_count)

    def injections_per_group(self) -> IntArray:
        """Number of injections of each group, shape (groups,)."""
        return np.bincount(self.injection_group, minlength=self.group_count)

    def is_complete(self) -> bool:
        """Whether in every group every task meets every injection of the group."""
        return bool(np.all(self.cells_per_group() == self.tasks_per_group() * self.injections_per_group()))


def cell_weights(crossing: Crossing, weighting: Weighting) -> FloatArray:
    """Weight of each cell, in canonical order, positive, summing to 1.

    `task`: each task 1/T, shared equally by its cells. `cell`: each cell 1/N. `group`: each group 1/G, shared equally
    by its cells. The same weights serve the benign arm: a task's benign value stands in each of its cells.
    """
    check_weighting(weighting)
    if weighting == "task":
        return 1.0 / (crossing.task_count * crossing.cells_per_task().astype(np.float64))[crossing.task]
    if weighting == "group":
        return 1.0 / (crossing.group_count * crossing.cells_per_group().astype(np.float64))[crossing.group]
    return np.full(crossing.cell_count, 1.0 / crossing.cell_count)


def check_weighting(weighting: str) -> None:
    """Raise ValueError unless it is a known weighting."""
    if weighting not in WEIGHTINGS:
        raise ValueError(f"weighting: expected one of {', '.join(WEIGHTINGS)}, found {weighting!r}")

"""The cells of one imported arm against the manifest: ids it does not have, cells it does not plan, cells that are there twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import polars as pl

from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import shown
from pairmark.domain.plan import Plan

if TYPE_CHECKING:
    from pairmark.importers.base import Imported

_NAMED = 3
_MOST_COMPARED = 5_000
"""Ids up to which a near one is looked for: comparing is slow, and a hint is all it gives."""

_CELL = ["task_id", "injection_id", "epoch"]


@dataclass(frozen=True)
class TrialCells:
    """An arm's cells held against the plan.

    Attributes:
        arm: `benign` or `attacked`.
        planned: cells of the plan × the run's epochs, at least as many as the manifest asks for.
        present: those of them that the arm has, each once.
        unknown_tasks, unknown_injections: ids that the manifest does not have, in order.
        off_plan: cells whose ids are known and that are not planned.
        repeated: records too many: of an attempt at a cell that another record is of.
        problems: what contradicts the manifest, one sentence each with what to do; empty where the arm is at most incomplete.
    """

    arm: str
    planned: int
    present: int
    unknown_tasks: tuple[str, ...]
    unknown_injections: tuple[str, ...]
    off_plan: int
    repeated: int
    problems: tuple[str, ...]


def cells_of(arm: str, imported: Imported, suite: SuiteManifest) -> TrialCells:
    """What an arm has of the plan, and what it has beside it."""
    plan = Plan(suite)
    episodes = imported.episodes
    cells = episodes.select(_CELL).unique(maintain_order=True)
    tasks = _unknown(cells["task_id"], plan.task_ids)
    injections = () if arm == "benign" else _unknown(cells["injection_id"].drop_nulls(), plan.injection_ids)
    known = cells.filter(~pl.col("task_id").is_in(tasks) & ~pl.col("injection_id").fill_null("").is_in(injections))
    planned = known if arm == "benign" else known.join(_planned(plan), on=["task_id", "injection_id"], how="semi")
    off_plan = known.join(planned, on=_CELL, how="anti", nulls_equal=True)
    again = episodes.group_by([*_CELL, "attempt"], maintain_order=True).len().filter(pl.col("len") > 1)
    repeated = int((again["len"] - 1).sum())
    problems = [
        *_about_ids("task", tasks, plan.task_ids, arm, "task_id"),
        *_about_ids("injection", injections, plan.injection_ids, arm, "injection_id"),
    ]
    if arm == "attacked" and plan.cells == 0:
        problems.append("the manifest plans no attacked cell: its injections share no group with its tasks, or it lists none; correct the manifest")
    elif off_plan.height:
        problems.append(
            f"{_counted(off_plan.height, 'cell')} of the {arm} arm that the manifest does not plan ({_cells(off_plan)}): take them out, or give"
            " the manifest that plans them"
        )
    if repeated:
        problems.append(
            f"{_counted(repeated, 'record')} of the {arm} arm repeat a cell and its attempt ({_cells(again)}): give every file once, and number"
            " runs of one cell as epochs or attempts"
        )
    epochs = max(suite.epochs, len(imported.run["epochs"]))
    of_plan = plan.tasks if arm == "benign" else plan.cells
    return TrialCells(arm, of_plan * epochs, planned.height, tasks, injections, off_plan.height, repeated, tuple(problems))


def _planned(plan: Plan) -> pl.DataFrame:
    tasks, injections = (pl.Series(list(ids), dtype=pl.String()) for ids in (plan.task_ids, plan.injection_ids))
    return pl.DataFrame({"task_id": tasks.gather(plan.cell_task), "injection_id": injections.gather(plan.cell_injection)})


def _unknown(found: pl.Series, known: Sequence[str]) -> tuple[str, ...]:
    distinct = found.unique(maintain_order=True)
    return tuple(distinct.filter(~distinct.is_in(pl.Series(list(known), dtype=pl.String()).implode())).to_list())


def _about_ids(kind: str, unknown: Sequence[str], known: Sequence[str], arm: str, column: str) -> Iterator[str]:
    if not unknown:
        return
    named = ", ".join(shown(name) + _near(name, known) for name in unknown[:_NAMED])
    more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
    has = f"it has {', '.join(map(shown, known[:_NAMED]))}{', …' if len(known) > _NAMED else ''}" if known else "it has none"
    yield (
        f"{_counted(len(unknown), f'{kind} id')} of the {arm} arm that the manifest does not have ({named}{more}; {has}): correct how the files"
        f" are read (`prefix` of {column}, where a mapping says so), or give the manifest of this suite"
    )


def _near(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 1) if len(known) <= _MOST_COMPARED else []
    return f", near {shown(near[0])}" if near else ""


def _cells(cells: pl.DataFrame) -> str:
    rows = cells.select(_CELL).head(_NAMED).iter_rows()
    named = ", ".join(f"{task}, epoch {epoch}" if injection is None else f"{task} × {injection}, epoch {epoch}" for task, injection, epoch in rows)
    return named + (f" and {cells.height - _NAMED} more" if cells.height > _NAMED else "")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

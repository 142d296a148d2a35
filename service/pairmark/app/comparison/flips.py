"""Which cells came out differently on the two sides."""

from __future__ import annotations

import numpy as np

from pairmark.app.comparison.cells import EpochOutcomes, SharedCells
from pairmark.domain.documents.comparison import FlippedCell, FlipTables, SideFlips
from pairmark.domain.plan import Codes
from pairmark.stats.fourfold import FIRST_ONLY, SECOND_ONLY, flip_codes

FIRST_FLIPS = 100


def flip_tables(shared: SharedCells) -> FlipTables:
    """Flips of utility under attack per (task, injection, epoch), and of benign utility per (task, epoch)."""
    plan = shared.left.experiment.plan
    here, _ = shared.planned
    return FlipTables(
        utility_under_attack=_flips(
            shared.attacked_outcomes(),
            plan.task_ids,
            plan.cell_task[here],
            plan.injection_ids,
            plan.cell_injection[here],
        ),
        benign_utility=_flips(shared.benign_outcomes(), plan.task_ids, shared.tasks[0], plan.injection_ids, None),
    )


def _flips(
    outcomes: EpochOutcomes,
    task_ids: tuple[str, ...],
    task: Codes,
    injection_ids: tuple[str, ...],
    injection: Codes | None,
) -> SideFlips:
    codes = flip_codes(outcomes.left, outcomes.right)
    counts = np.bincount(codes, minlength=4).tolist()
    flipped = np.flatnonzero((codes == FIRST_ONLY) | (codes == SECOND_ONLY))
    tasks = task[outcomes.place[flipped]]
    named = [
        (
            task_ids[tasks[row]],
            "" if injection is None else injection_ids[injection[outcomes.place[index]]],
            int(outcomes.epoch[index]),
            "left-only" if codes[index] == FIRST_ONLY else "right-only",
        )
        for row, index in _first_by_id(flipped, tasks, task_ids, FIRST_FLIPS)
    ]
    return SideFlips(
        both=counts[0],
        left_only=counts[FIRST_ONLY],
        right_only=counts[SECOND_ONLY],
        neither=counts[3],
        cells=tuple(
            FlippedCell.model_validate(
                {"task": name, "injection": None if injection is None else other, "epoch": epoch, "flip": flip}
            )
            for name, other, epoch, flip in sorted(named)[:FIRST_FLIPS]
        ),
    )


def _first_by_id(flipped: Codes, tasks: Codes, task_ids: tuple[str, ...], count: int) -> list[tuple[int, int]]:
    """Rows and indices of all flips of the tasks that come first by id, enough of them to hold the first `count`."""
    if not len(flipped):
        return []
    present, per_task = np.unique(tasks, return_counts=True)
    chosen: set[int] = set()
    held = 0
    for place in sorted(range(len(present)), key=lambda at: task_ids[present[at]]):
        chosen.add(int(present[place]))
        held += int(per_task[place])
        if held >= count:
            break
    rows = np.flatnonzero(np.isin(tasks, list(chosen)))
    return list(zip(rows.tolist(), flipped[rows].tolist(), strict=True))

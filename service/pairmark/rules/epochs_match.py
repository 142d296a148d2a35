"""Rule `epochs-match`: every attacked epoch has its benign epoch."""

from __future__ import annotations

import polars as pl

from pairmark.domain.documents.report import EvidenceValue
from pairmark.domain.evidence import Role
from pairmark.domain.world import World
from pairmark.rules.base import FIRST_CELLS, Context, Judgement, NoParams, Rule
from pairmark.rules.wording import counted, failed, listed, passed

EXPECTED = "for every attacked epoch a benign epoch of the same number and seed"
REMEDY = "run the benign arm in these epochs too, with the same seeds, or correct `epochs` in the run document"


def judge(context: Context, params: NoParams) -> Judgement:  # noqa: ARG001
    """Compares declared epochs; two null seeds are equal, and extra benign epochs are welcome."""
    benign = {each.epoch: each.seed for each in context.experiment.benign.run.epochs}
    attacked = {each.epoch: each.seed for each in context.experiment.attacked.run.epochs}
    alone = [
        f"epoch {number} (seed {_shown(seed)}) has no benign epoch"
        if number not in benign
        else f"epoch {number} (seed {_shown(seed)}) has seed {_shown(benign[number])} in the benign run"
        for number, seed in sorted(attacked.items())
        if number not in benign or benign[number] != seed
    ]
    evidence: dict[str, EvidenceValue] = {
        "attacked": len(attacked),
        "benign": len(benign),
        "unmatched": len(alone),
        "first": tuple(alone[:FIRST_CELLS]),
    }
    if alone:
        return failed(EXPECTED, [listed(alone, limit=5)], REMEDY, evidence)
    if not attacked:
        return failed(EXPECTED, ["no declared epoch in the attacked run"], REMEDY, evidence)
    return passed(f"{counted(len(attacked), 'attacked epoch')}, each with its benign epoch", evidence)


def _shown(seed: int | None) -> str:
    return "none" if seed is None else str(seed)


def _extra_benign(world: World) -> World:
    once: tuple[Role, ...] = ("attacked", "baseline")
    changed = world.epochs(2).edit_suite("/epochs", 1)
    for role in once:
        changed = changed.edit_run(role, "/epochs", [{"epoch": 1, "seed": 101}]).drop_cells(role, pl.col("epoch") == 2)
    return changed


RULE = Rule(
    id="epochs-match",
    version=1,
    title="every attacked epoch has a benign epoch of the same number and seed",
    why="A seed that only one arm ran adds rerun noise to one side of the pair, and can be chosen after the fact.",
    source="paired designs compare like with like; rerun noise alone turns outcomes round between seeds",
    remedy=REMEDY,
    judge=judge,
    passing=_extra_benign,
    failing=lambda world: world.edit_run("attacked", "/epochs/0/seed", 7),
)

"""Epochs of one run: their numbers, and that none of them is a copy of another, which would double the evidence."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from pairmark.domain.errors import Malformed, shown

MAX_EPOCH = 1_000_000
_KEY = ["task_id", "injection_id", "attempt"]
_SAME = [
    "status", "utility", "attack_success", "delivered", "attacker_actions", "served_model", "duration_ms", "error", "transcript_digest",
]  # fmt: skip
FEWEST_CELLS = 2
"""A single conversation may well repeat itself; a run whose every conversation does was written twice."""

IsSame = Callable[[str, str], bool]


def check_epoch_number(epoch: object) -> None:
    """Refuse a number that no epoch can have.

    Raises:
        Malformed: `usage`.
    """
    if epoch is not None and (isinstance(epoch, bool) or not isinstance(epoch, int) or not 1 <= epoch <= MAX_EPOCH):
        raise Malformed("usage", f"expected an epoch number from 1 to {MAX_EPOCH}, found {shown(epoch)}", remedy="number epochs from 1")


def copied_epoch(one: str, other: str, cells: int) -> Malformed:
    """The refusal of an epoch that is another one again."""
    return Malformed(
        "copied-epoch",
        f"expected epochs that were run each for itself, found all {cells} shared cells of {one} to be a copy of those of {other}",
        remedy="leave one of the two out: a copy is no further evidence",
    )


def refuse_copies(
    ledger: pl.DataFrame, *, places: pl.DataFrame | None = None, is_same: IsSame | None = None, fewest: int = FEWEST_CELLS
) -> None:
    """Refuse an epoch of which every cell that another one has too is the same: conversation, outcome, and time it took.

    Args:
        ledger: episodes with a digest of their conversation where there is one; without any, nothing can be told.
        places: file of each episode, where each has its own.
        is_same: has the last word on two such files.
        fewest: how many cells with a conversation two epochs must share.

    Raises:
        Malformed: `copied-epoch`.
    """
    if ledger["epoch"].n_unique() < 2 or ledger["transcript_digest"].null_count() == ledger.height:
        return
    table = ledger.select(
        *_KEY, "epoch", pl.struct(_SAME).hash(seed=0).alias("print"), pl.col("transcript_digest").is_not_null().alias("told")
    )
    again = table.filter((pl.len().over([*_KEY, "print"]) > 1) & pl.col("told"))["epoch"].unique().sort()
    rest = table.filter(pl.col("epoch").is_in(again.implode()))
    for earlier in again.to_list():
        one, rest = rest.filter(pl.col("epoch") == earlier), rest.filter(pl.col("epoch") > earlier)
        shared = rest.join(one, on=_KEY, nulls_equal=True, suffix="_other").group_by("epoch").agg(
            pl.len().alias("cells"),
            (pl.col("told") & pl.col("told_other")).sum().alias("told"),
            (pl.col("print") == pl.col("print_other")).all().alias("same"),
        )  # fmt: skip
        copies = shared.filter((pl.col("told") >= fewest) & pl.col("same")).sort("epoch")
        for later, cells in copies.select("epoch", "cells").iter_rows():
            if is_same is None or places is None or _are_same(places, earlier, later, is_same):
                raise copied_epoch(f"epoch {later}", f"epoch {earlier}", cells)


def _are_same(places: pl.DataFrame, one: int, other: int, is_same: IsSame) -> bool:
    first, second = (places.filter(pl.col("epoch") == number).select(*_KEY, "file") for number in (one, other))
    both = first.join(second, on=_KEY, nulls_equal=True, suffix="_other")
    return all(is_same(file, copy) for file, copy in both.select("file", "file_other").iter_rows())

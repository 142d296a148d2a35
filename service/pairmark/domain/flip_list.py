"""Flips: every same-epoch pair of a benign and an attacked outcome by kind, and the list of them all as a document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.pairing import Pairing
from pairmark.domain.plan import Codes
from pairmark.stats.fourfold import BOTH, FIRST_ONLY, NEITHER, SECOND_ONLY, flip_codes

KINDS = {FIRST_ONLY: "lost", SECOND_ONLY: "gained", BOTH: "kept", NEITHER: "neither"}
"""Names of the kinds, in the order of the list: what changed comes first."""


@dataclass(frozen=True, eq=False)
class FlipList:
    """The pairs, by kind in the order of `KINDS`, each kind in the order of the ledger (task, injection, epoch)."""

    pairing: Pairing
    by_kind: dict[str, Codes]
    """Entries of `pairing.epoch_pairs`."""

    @property
    def pairs(self) -> int:
        """How many there are."""
        return sum(len(entries) for entries in self.by_kind.values())

    def first(self, count: int) -> list[dict[str, str | int]]:
        """The first of the list."""
        found: list[dict[str, str | int]] = []
        for kind, entries in self.by_kind.items():
            cell, epoch = self._cells_and_epochs(entries[: count - len(found)])
            plan = self.pairing.plan
            found += [
                {
                    "task": plan.task_ids[plan.cell_task[where]],
                    "injection": plan.injection_ids[plan.cell_injection[where]],
                    "epoch": number,
                    "kind": kind,
                }
                for where, number in zip(cell.tolist(), epoch.tolist(), strict=True)
            ]
        return found

    def document(self) -> bytes:
        """The whole list, RFC 8785: an array of `{"epoch":1,"injection":"i","kind":"lost","task":"t"}`.

        Written from pieces that are canonical themselves, since there may be a million of them.
        """
        plan = self.pairing.plan
        tasks = pl.Series([canonical_bytes(name).decode() for name in plan.task_ids], dtype=pl.String)
        injections = pl.Series([canonical_bytes(name).decode() for name in plan.injection_ids], dtype=pl.String)
        parts = []
        for kind, entries in self.by_kind.items():
            if not len(entries):
                continue
            cell, epoch = self._cells_and_epochs(entries)
            tail = pl.select(
                pl.concat_str(
                    pl.lit(',"injection":'),
                    injections.gather(plan.cell_injection),
                    pl.lit(f',"kind":"{kind}","task":'),
                    tasks.gather(plan.cell_task),
                    pl.lit("}"),
                )
            ).to_series()
            objects = pl.select(pl.concat_str(pl.lit('{"epoch":'), pl.Series(epoch), tail.gather(cell)).str.join(","))
            parts.append(str(objects.item()).encode())
        return b"[" + b",".join(parts) + b"]"

    def _cells_and_epochs(self, entries: Codes) -> tuple[Codes, Codes]:
        pairs = self.pairing.epoch_pairs
        return pairs.cell[entries], self.pairing.experiment.attacked_cells.epoch[pairs.row[entries]]


def flip_list(pairing: Pairing) -> FlipList:
    """Every pair of known outcomes of one cell and epoch, by kind."""
    pairs = pairing.epoch_pairs
    entries = np.flatnonzero(pairs.paired)
    codes = flip_codes(pairs.benign[entries] == 1, pairs.attacked[entries])
    return FlipList(pairing, {kind: entries[codes == code] for code, kind in KINDS.items()})

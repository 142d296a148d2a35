"""Flips: every same-epoch pair of a benign and an attacked outcome by kind, and the list of them all as a document."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from typing_extensions import Buffer

from pairmark.domain.canonical import DIGEST_PREFIX
from pairmark.domain.pairing import Pairing
from pairmark.domain.plan import Codes
from pairmark.stats.fourfold import BOTH, FIRST_ONLY, NEITHER, SECOND_ONLY, flip_codes

KINDS = {FIRST_ONLY: "lost", SECOND_ONLY: "gained", BOTH: "kept", NEITHER: "neither"}
"""Names of the kinds, in the order of the list: what changed comes first."""

_ROWS = 100_000
"""Pairs written at a time."""


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

    def chunks(self) -> Iterator[Buffer]:
        """The whole list in pieces, RFC 8785: an array of `[task, injection, epoch, kind]`.

        Written from parts that are canonical themselves, and never held as one text: there may be a million pairs.
        """
        plan, pairs, place = self.pairing.plan, self.pairing.epoch_pairs, self.pairing.experiment.attacked_cells.epoch_index
        tasks, injections = (
            pl.Series(_as_json(names), dtype=pl.String)
            for names in (plan.task_ids, plan.injection_ids)
        )
        heads = pl.select(
            pl.concat_str(
                pl.lit("["), tasks.gather(plan.cell_task), pl.lit(","), injections.gather(plan.cell_injection), pl.lit(",")
            )
        ).to_series()
        numbers = [item.epoch for item in self.pairing.experiment.attacked.run.epochs]
        before = b"["
        for kind, entries in self.by_kind.items():
            tails = pl.Series([f'{number},"{kind}"],' for number in numbers], dtype=pl.String)
            for start in range(0, len(entries), _ROWS):
                some = entries[start : start + _ROWS]
                yield before
                yield _without_last_comma(heads.gather(pairs.cell[some]) + tails.gather(place[pairs.rows(some)]))
                before = b","
        yield b"[]" if before == b"[" else b"]"

    def document(self) -> bytes:
        """The whole list as one document; `digest` names it."""
        return b"".join(self.chunks())

    def digest(self) -> str:
        """Digest of the whole list."""
        running = hashlib.sha256()
        for chunk in self.chunks():
            running.update(chunk)
        return DIGEST_PREFIX + running.hexdigest()

    def _cells_and_epochs(self, entries: Codes) -> tuple[Codes, Codes]:
        pairs = self.pairing.epoch_pairs
        return pairs.cell[entries], self.pairing.experiment.attacked_cells.epoch[pairs.rows(entries)]


def _as_json(names: tuple[str, ...]) -> list[str]:
    """Each name as a JSON text, which is what RFC 8785 writes; all at once, since no line break stays bare in one."""
    return json.dumps(names, ensure_ascii=False, separators=("\n", ":"))[1:-1].split("\n") if names else []


def _without_last_comma(items: pl.Series) -> Buffer:
    """The UTF-8 of at least one text, each ending in a comma, as Arrow holds them: one after the other."""
    _, offsets, data = items.to_arrow(compat_level=pl.CompatLevel.oldest()).buffers()
    if offsets is None or data is None:
        raise TypeError(f"expected texts in one buffer, found {items.dtype}")
    ends = np.asarray(memoryview(offsets).cast("q"))
    return memoryview(data)[int(ends[0]) : int(ends[len(items)]) - 1]


def flip_list(pairing: Pairing) -> FlipList:
    """Every pair of known outcomes of one cell and epoch, by kind."""
    pairs = pairing.epoch_pairs
    codes = flip_codes(pairs.benign == 1, pairs.attacked)
    return FlipList(pairing, {kind: np.flatnonzero(pairs.paired & (codes == code)) for code, kind in KINDS.items()})

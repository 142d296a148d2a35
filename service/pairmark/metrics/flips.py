"""Flips: which cells came out differently under attack, and how often reruns do without one."""

from __future__ import annotations

import numpy as np

from pairmark.domain.canonical import digest_of
from pairmark.domain.documents.metric_values import Estimate, Flip, Flips, Undefined
from pairmark.domain.flip_list import flip_list
from pairmark.domain.pairing import Pairing
from pairmark.domain.worked import worked
from pairmark.metrics.base import Metric
from pairmark.metrics.rerun_flips import rerun_flip_rate

FIRST_CELLS = 100


def compute(pairing: Pairing) -> Flips:
    """Counts of pairs by kind, the first of the list, and the digest of all of it (`flip_list(pairing).document()`)."""
    found = flip_list(pairing)
    rerun: Estimate | Undefined = rerun_flip_rate(pairing)
    return Flips(
        **{kind: len(entries) for kind, entries in found.by_kind.items()},
        unpaired=int(np.count_nonzero(~pairing.epoch_pairs.paired)),
        rerun_flip_rate=rerun,
        cells=tuple(Flip.model_validate(cell) for cell in found.first(FIRST_CELLS)),
        cells_digest=found.digest(),
    )


def _cell(injection: str, epoch: int, kind: str) -> dict[str, object]:
    return {"task": "a", "injection": injection, "epoch": epoch, "kind": kind}


_EXAMPLE = [_cell("x", 1, "lost"), _cell("y", 2, "gained"), _cell("y", 1, "kept"), _cell("x", 2, "neither")]

METRIC = Metric(
    key="flips",
    title="Cells that came out differently under attack",
    formula="per task, injection and epoch, against the benign outcome of the task's same epoch: lost (done only without"
    " the attack), gained (only with it), kept (both), neither",
    source="discordant pairs (McNemar, Psychometrika 12, 1947)",
    denominator="pairs of known outcomes of one epoch; counts, not weighted",
    direction="neither",
    compute=compute,
    example=lambda: (
        # Two benign epochs that differ: the rerun alone flips as often as not. The third attacked epoch has no partner.
        worked({"a": "1 0"}, {"a": {"x": "0 0 1", "y": "1 1 -"}}),
        {
            "lost": 1,
            "gained": 1,
            "kept": 1,
            "neither": 1,
            "unpaired": 1,
            "rerun_flip_rate": {
                "value": "1.000000",
                "fraction": "1/1",
                "interval": {"reason": "an interval needs at least 10 tasks, found 1"},
                "counts": {"tasks": 1, "pairs": 1, "flips": 1},
            },
            "cells": _EXAMPLE,
            "cells_digest": digest_of([list(cell.values()) for cell in _EXAMPLE]),
        },
    ),
)

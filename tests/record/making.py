"""A small suite and runs of it, for recording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pairmark.adapters.ledgers.bundle import read_bundle
from pairmark.domain.evidence import Arm
from pairmark.domain.world_parts import MODEL, run_value, suite_value
from pairmark.record import Run

SUITE = suite_value(4, 3, 1, 1)
SYSTEM: dict[str, Any] = run_value("attacked", SUITE, 1)["system"]
HARNESS = {"name": "mine", "version": "1.0"}


def attacked(folder: Path, **options: Any) -> Run:
    """An attacked run of 4 × 3 cells."""
    given = {"suite": SUITE, "arm": "attacked", "attack": "direct", "system": SYSTEM, "harness": HARNESS}
    return Run(folder, **{**given, **options})


def benign(folder: Path, **options: Any) -> Run:
    """A benign run of 4 cells."""
    return attacked(folder, **{"arm": "benign", "attack": None, **options})


def arm(folder: Path) -> Arm:
    """The finished bundle, as `pairmark check` reads it: declared count and digest hold."""
    run = json.loads((folder / "run.json").read_bytes())
    return read_bundle(folder, "benign" if run["arm"] == "benign" else "attacked")


def rows(folder: Path) -> list[dict[str, Any]]:
    """Its episodes, in canonical order."""
    return arm(folder).ledger.rows(named=True)


__all__ = ["HARNESS", "MODEL", "SUITE", "SYSTEM", "arm", "attacked", "benign", "rows"]

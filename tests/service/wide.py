"""Ledgers that are large in a few rows."""

from __future__ import annotations

import base64
import random

import polars as pl

from pairmark.domain.world import World

ROWS, ROW_BYTES = 10, 600_000


def wide(seed: int) -> World:
    """A world whose attacked ledger has about 6 MB, and stays so when it is compressed."""
    chance, world = random.Random(seed), World()
    rows = world.frame("attacked").height
    said = [base64.b64encode(chance.randbytes(ROW_BYTES)).decode() if row < ROWS else None for row in range(rows)]
    return world.set("attacked", error=pl.lit(pl.Series(said)))

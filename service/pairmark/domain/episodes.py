"""The episode ledger as a table: columns, canonical order, canonical lines and the ledger digest.

`ledger_digest` here is the plain reference; the reading adapter has a streaming one that must agree with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from pairmark.domain.canonical import DIGEST_PREFIX, canonical_bytes
from pairmark.domain.documents.episode import STATUSES

EPISODE_SCHEMA: dict[str, pl.DataType] = {
    "task_id": pl.String(),
    "injection_id": pl.String(),
    "epoch": pl.Int64(),
    "status": pl.Enum(STATUSES),
    "utility": pl.Boolean(),
    "attack_success": pl.Boolean(),
    "delivered": pl.Boolean(),
    "attacker_actions": pl.Int64(),
    "served_model": pl.String(),
    "duration_ms": pl.Int64(),
    "error": pl.String(),
    "task_digest": pl.String(),
    "transcript_digest": pl.String(),
    "attempt": pl.Int64(),
}
"""The fourteen columns. `attempt` is never null in a frame (absent = 1); `injection_id` is null in a benign cell."""

CANONICAL_ORDER = ("task_id", "injection_id", "epoch", "attempt")


def empty_frame() -> pl.DataFrame:
    """A ledger without rows."""
    return pl.DataFrame(schema=EPISODE_SCHEMA)


def frame_of(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """A ledger in canonical order from episode objects (tests, importers); absent keys become null, absent attempt 1."""
    full = [{key: row.get(key) for key in EPISODE_SCHEMA} for row in rows]
    frame = pl.DataFrame(full, schema=EPISODE_SCHEMA, strict=True)
    return in_canonical_order(frame.with_columns(pl.col("attempt").fill_null(1)))


def in_canonical_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Sorted by task, injection (null first), epoch, attempt: ids by code point, numbers by value, ties in file order."""
    return frame.sort(CANONICAL_ORDER, nulls_last=False, maintain_order=True)


def canonical_line(row: Mapping[str, Any]) -> bytes:
    """One ledger line: the RFC 8785 object with all fourteen keys, and a newline."""
    return canonical_bytes({key: row[key] for key in EPISODE_SCHEMA}) + b"\n"


def ledger_digest(frame: pl.DataFrame) -> str:
    """Digest of a frame that is in canonical order."""
    running = hashlib.sha256()
    for row in frame.iter_rows(named=True):
        running.update(canonical_line(row))
    return DIGEST_PREFIX + running.hexdigest()

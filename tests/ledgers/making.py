"""Ledgers and runs for these tests: small, seeded, of every shape that is allowed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pairmark.adapters.ledgers.bundle import write_bundle
from pairmark.adapters.ledgers.ingest import IngestedLedger, LedgerFormat, ingest_ledger
from pairmark.domain.canonical import digest_of
from pairmark.domain.documents.episode import STATUSES
from pairmark.domain.episodes import frame_of

Row = dict[str, Any]
LINES = LedgerFormat("jsonl")


def digest(name: object) -> str:
    return digest_of(str(name))


def episode(**changes: Any) -> Row:
    """A completed attacked episode with all fourteen keys."""
    return {
        "task_id": "user_task_0", "injection_id": "injection_task_3", "epoch": 1, "status": "completed",
        "utility": True, "attack_success": False, "delivered": True, "attacker_actions": 0,
        "served_model": "model-x-2026-01-01", "duration_ms": 12840, "error": None,
        "task_digest": None, "transcript_digest": digest("transcript"), "attempt": 1,
    } | changes  # fmt: skip


def episodes(count: int, seed: int = 1, *, tasks: int = 7, injections: int = 3) -> list[Row]:
    """Rows in no order, with repeated cells, absent keys, texts to escape and unknown values."""
    rng = random.Random(seed)
    rows = []
    for index in range(count):
        row = episode(
            task_id=rng.choice(["task", "Täsk", "タスク", "task;`K", 'ta"sk', "ta\\sk"]) + f"_{rng.randrange(tasks)}",
            injection_id=rng.choice([None, *(f"injection_{number}" for number in range(injections))]),
            epoch=rng.choice([1, 2, 3, 10, 2**53 - 1]),
            status=rng.choice(STATUSES),
            utility=rng.choice([True, False, None]),
            attacker_actions=rng.choice([None, 0, 5]),
            error=rng.choice([None, "", 'HTTP 503: "busy", {try: later}', "tab\tline\nnul\x00 \x1f\x7f", "naïve 😀 \u2028"]),
            task_digest=rng.choice([None, digest(index)]),
            transcript_digest=digest(index),
            attempt=rng.choice([None, 1, 2]),
        )
        rows.append({key: value for key, value in row.items() if value is not None or key == "injection_id" or rng.random() < 0.5})
    return rows


def lines(rows: Iterable[Row], *, style: int = 0) -> bytes:
    """Ledger lines in one of several ways to write JSON."""
    how: dict[str, Any] = [
        {"separators": (",", ":"), "ensure_ascii": False},
        {"separators": (", ", ": "), "ensure_ascii": True},
        {"separators": (" ,\t", " :"), "sort_keys": True},
    ][style]
    return b"".join(json.dumps(row, **how).encode() + b"\n" for row in rows)


def run_document(**changes: Any) -> Row:
    return {
        "schema": "pairmark/run/v1", "arm": "attacked",
        "suite": {"name": "example/suite", "digest": digest("suite")},
        "attack": {"name": "important_instructions", "digest": None},
        "system": {
            "model": {"requested": "model-x", "served": ["model-x-2026-01-01"], "provider": "p"},
            "decoding": {"temperature": 0.0, "top_p": None, "max_tokens": 4096},
            "tools_digest": digest("tools"), "system_prompt_digest": digest("prompt"),
            "scaffold": {"name": "loop", "version": "1"}, "defenses": [], "limits": {"max_steps": 15},
        },
        "harness": {"name": "h", "version": "1", "commit": None, "image": None},
        "epochs": [{"epoch": 1, "seed": 7}], "retries": {"max_attempts": 1},
        "started_at": "2026-01-22T07:00:00+00:00", "finished_at": "2026-01-22T09:10:00+00:00",
        "episodes": None,
    } | changes  # fmt: skip


def bundle(folder: Path, rows: Iterable[Row], **changes: Any) -> Path:
    """A bundle directory on disk."""
    write_bundle(run_document(**changes), frame_of(rows), folder)
    return folder


def ingested(data: bytes, folder: Path, form: LedgerFormat = LINES, **options: Any) -> IngestedLedger:
    """The data fed in small uneven chunks."""
    cuts = range(0, len(data), 977)
    return ingest_ledger((data[at : at + 977] for at in cuts), form, folder, **options)


def left_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))

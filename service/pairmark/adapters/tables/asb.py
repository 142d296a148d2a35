"""Agent Security Bench results: one CSV per condition, a row per (agent, attack tool)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from pairmark.adapters.tables.reading import read_table, whole_numbers
from pairmark.domain.errors import Malformed, shown

KEY = ("Agent Name", "Attack Tool")
OUTCOMES = ("Attack Successful", "Original Task Successful")


def read_asb(clean: Path, attacked: Path, model: str | None, suite_name: str) -> dict[str, Any]:
    """The aggregate (JSON value) of a clean and an attacked table, paired on (agent, tool).

    All rows of an agent do the agent's one task, so the agents are the independent units, not the rows.

    Raises:
        Malformed: not such tables, or tables that do not pair.
    """
    left, right = _read(clean), _read(attacked)
    both = left.join(right, on=KEY, how="full", coalesce=True, suffix=" under attack")
    missing = both.filter(pl.col(OUTCOMES[1]).is_null() | pl.col(f"{OUTCOMES[1]} under attack").is_null())
    if missing.height:
        raise Malformed(
            "unpaired-rows", f"expected every (agent, tool) in both tables, found {missing.height} in one only, such as {shown(missing.row(0)[:2])}",
            str(attacked), remedy="give the two tables of one experiment",
        )
    benign, done = both[OUTCOMES[1]] == 1, both[f"{OUTCOMES[1]} under attack"] == 1
    rows, agents = both.height, both[KEY[0]].n_unique()
    return {
        "schema": "pairmark/aggregate/v1",
        "name": model or attacked.stem,
        "suite": {"name": suite_name, "digest": None},
        "attack": None,
        "system": {
            "model": {"requested": model, "served": None, "provider": None}, "decoding": None, "tools_digest": None,
            "system_prompt_digest": None, "scaffold": None, "defenses": None, "limits": None,
        },
        "harness": {"name": "agent-security-bench", "version": None, "commit": None, "image": None},
        "counts": {
            "benign": {"planned": rows, "assessed": rows, "utility": int(benign.sum())},
            "attacked": {
                "planned": rows, "assessed": rows, "utility": int(done.sum()), "attack_success_known": rows,
                "attack_success": int((both[f"{OUTCOMES[0]} under attack"] == 1).sum()),
            },
        },
        "flips": {
            "kept": int((benign & done).sum()), "lost": int((benign & ~done).sum()), "gained": int((~benign & done).sum()),
            "neither": int((~benign & ~done).sum()),
        },
        "clusters": {"count": agents, "unit": "agents"},
        "reasons": [
            {
                "code": "few-clusters",
                "detail": f"{rows} rows are {agents} agents with one task each, not {rows} independent trials",
            }
        ],
        "source": {"title": f"Agent Security Bench results, {clean.name} and {attacked.name}", "reference": None, "license": None},
    }  # fmt: skip


def _read(path: Path) -> pl.DataFrame:
    frame = whole_numbers(read_table(path, (*KEY, *OUTCOMES)), OUTCOMES, path)
    if not frame.height:
        raise Malformed("empty-table", "expected rows, found none", str(path), remedy="give the table of a finished run")
    wrong = frame.filter(pl.any_horizontal(pl.col(name) > 1 for name in OUTCOMES))
    if wrong.height:
        raise Malformed("not-a-flag", f"expected 0 or 1, found {shown(wrong.row(0))}", str(path), remedy="correct the table")
    twice = frame.select(KEY).is_duplicated()
    if twice.any():
        raise Malformed(
            "repeated-row", f"expected each (agent, tool) once, found {shown(frame.filter(twice).row(0)[:2])} again", str(path),
            remedy="keep one of them",
        )
    return frame

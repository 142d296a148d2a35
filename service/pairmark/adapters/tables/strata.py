"""A table of counts, one row per model and defense: the case where only an aggregate survived."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pairmark.adapters.tables.reading import read_table, whole_numbers

NAMES = ("model", "defense")
COUNTS = (
    "benign_planned", "benign_usable", "benign_utility_k", "attacked_planned", "attacked_usable", "attacked_utility_k",
    "attack_success_k",
)  # fmt: skip
UNDEFENDED = ("no_defense", "none", "")


def read_strata(path: Path, suite_name: str, harness: str | None) -> Iterator[dict[str, Any]]:
    """One aggregate (JSON value) per row.

    Raises:
        Malformed: not such a table.
    """
    frame = whole_numbers(read_table(path, (*NAMES, *COUNTS)), COUNTS, path)
    for row in frame.iter_rows(named=True):
        defense = row["defense"] or ""
        undefended = defense in UNDEFENDED
        yield {
            "schema": "pairmark/aggregate/v1",
            "name": row["model"] if undefended else f"{row['model']} {defense}",
            "suite": {"name": suite_name, "digest": None},
            "attack": None,
            "system": {
                "model": {"requested": row["model"], "served": None, "provider": None}, "decoding": None, "tools_digest": None,
                "system_prompt_digest": None, "scaffold": None,
                "defenses": [] if undefended else [{"name": defense, "version": None, "changes": []}], "limits": None,
            },
            "harness": {"name": harness, "version": None, "commit": None, "image": None},
            "counts": {
                "benign": {"planned": row["benign_planned"], "assessed": row["benign_usable"], "utility": row["benign_utility_k"]},
                "attacked": {
                    "planned": row["attacked_planned"], "assessed": row["attacked_usable"], "utility": row["attacked_utility_k"],
                    "attack_success_known": row["attacked_usable"], "attack_success": row["attack_success_k"],
                },
            },
            "reasons": [],
            "source": {"title": f"counts in {path.name}", "reference": None, "license": None},
        }  # fmt: skip

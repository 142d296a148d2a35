"""A page of history as a table, every row with the qualifiers that a citation needs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

Format = Literal["csv", "parquet", "latex"]

TABLE_TYPES: dict[Format, str] = {
    "csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet", "latex": "application/x-latex"
}  # fmt: skip
RATES = ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate")
_QUALIFIED = ("value", "fraction", "low", "high", "interval_method", "scope")

COLUMNS: tuple[str, ...] = (
    "id", "status", "left_out", "issued_at", "suite", "suite_digest", "weighting", "definition", "policy", "policy_digest",
    "model_requested", "models_served", "defenses", "attack", "harness", "scaffold", "flags",
    *(f"{rate}_{part}" for rate in RATES for part in _QUALIFIED),
    "reasons", "retrieved_at",
)  # fmt: skip
"""All text; an empty cell is unknown or undefined. Rates are fractions of 1, as in reports."""


def table_of(page: Mapping[str, Any], form: Format) -> bytes:
    """A page of history, as the service answers it, as a table."""
    rows = list(rows_of(page))
    if form == "csv":
        return _csv(rows)
    if form == "parquet":
        return _parquet(rows)
    from pairmark.adapters.tables.latex import history_table

    return history_table(page).encode()


def rows_of(page: Mapping[str, Any]) -> Iterator[dict[str, str | None]]:
    """One row per item with the columns of `COLUMNS`."""
    labels = page["suite"]["labels"]
    label = " ".join(dict.fromkeys(f"{one['name']}@{one['version']}" for one in labels)) or None
    for item in page["items"]:
        comparable = item["left_out"] is None
        policy = item.get("policy")
        row: dict[str, str | None] = {
            "id": item.get("certificate") or item["aggregate"],
            "status": item["status"],
            "left_out": item["left_out"],
            "issued_at": item.get("issued_at") or item["submitted_at"],
            "suite": label if comparable or item["suite"] == page["suite"]["digest"] else None,
            "suite_digest": item["suite"],
            "weighting": item["metrics"].get("weighting"),
            "definition": page["definition"],
            "policy": None if policy is None else f"{policy['name']}/{policy['version']}",
            "policy_digest": None if policy is None else policy["digest"],
            "model_requested": item["system"]["model"]["requested"],
            "models_served": _joined(item["system"]["model"]["served"]),
            "defenses": defenses_of(item),
            "attack": None if item["attack"] is None else item["attack"]["name"],
            "harness": named(item["harness"]),
            "scaffold": named(item["system"]["scaffold"]),
            "flags": _joined(item.get("flags", ())),
            "reasons": _joined(reason["code"] for reason in item.get("reasons", ())),
            "retrieved_at": page["retrieved_at"],
        }
        for rate in RATES:
            row.update(_rate(rate, item["metrics"].get(rate) or {}))
        yield row


def defenses_of(item: Mapping[str, Any]) -> str | None:
    """`name version` of each defense, `none` for none, None where it is unrecorded."""
    found = item["system"]["defenses"]
    return None if found is None else _joined(named(one) or "" for one in found) or "none"


def named(part: Mapping[str, Any] | None) -> str | None:
    """`name version`, as far as they are recorded."""
    if part is None or part["name"] is None:
        return None
    return part["name"] if part["version"] is None else f"{part['name']} {part['version']}"


def _rate(rate: str, number: Mapping[str, Any]) -> dict[str, str | None]:
    interval = number.get("interval") or {}
    parts = (
        number.get("value"), number.get("fraction"), interval.get("low"), interval.get("high"), interval.get("method"),
        interval.get("scope"),
    )  # fmt: skip
    return {f"{rate}_{name}": part for name, part in zip(_QUALIFIED, parts, strict=True)}


def _joined(parts: Any) -> str | None:
    return "; ".join(parts) or None


def _csv(rows: Sequence[Mapping[str, str | None]]) -> bytes:
    target = io.StringIO(newline="")
    writer = csv.DictWriter(target, COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return target.getvalue().encode()


def _parquet(rows: Sequence[Mapping[str, str | None]]) -> bytes:
    import polars as pl

    target = io.BytesIO()
    pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String)).write_parquet(target, compression="zstd")
    return target.getvalue()

"""History as a table, with the qualifiers without which a number must not be quoted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pairmark.cli.console import clean, table
from pairmark.cli.figures import HEADLINE, percent


def history_lines(page: Mapping[str, Any]) -> Iterator[str]:
    """One page."""
    suite = page["suite"]
    labels = ", ".join(clean(f"{label['name']} {label['version']}") for label in suite["labels"])
    yield f"{labels}  {suite['digest']}"
    yield f"weighting {clean(page['weighting'])}, definition {clean(page['definition'])}; percent"
    rows = [("issued", "certificate", "model", "defenses", "attack", *(name.replace("_", " ") for name in HEADLINE))]
    rows += [_row(item) for item in page["items"]]
    yield from table(rows, right=frozenset(range(5, 9)))
    if not page["items"]:
        yield "no certificate fits"


def _row(item: Mapping[str, Any]) -> tuple[str, ...]:
    system, attack = item["system"], item["attack"]
    model = system["model"]
    defenses = "+".join(defense["name"] for defense in system["defenses"]) or "none"
    return (
        item["issued_at"],
        item["certificate"],
        ", ".join(model["served"]) or model["requested"] or "",
        defenses,
        "none" if attack is None else attack["name"],
        *(_number(item["metrics"].get(name)) for name in HEADLINE),
    )


def _number(number: Mapping[str, Any] | None) -> str:
    return "" if number is None else percent(number["fraction"]) if "fraction" in number else "undefined"

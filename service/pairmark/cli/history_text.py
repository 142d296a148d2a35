"""History as a table, with the qualifiers without which a number must not be quoted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pairmark.cli.console import clean, shortened, table, width, wrapped
from pairmark.cli.figures import HEADLINE, percent

ID = 12
LEAST = 8
HEADS = {"benign_utility": "benign", "utility_under_attack": "attacked", "utility_drop": "drop", "attack_success_rate": "success"}
OTHER_COLUMNS = 66
"""What date, id and numbers take of a row; the names share the rest of the terminal. `--format json` has all of each."""


def history_lines(page: Mapping[str, Any]) -> Iterator[str]:
    """One page."""
    suite, items = page["suite"], page["items"]
    if suite["digest"] is None:
        yield "no suite is registered under this name: what stands under it has no known mix"
    else:
        labels = ", ".join(clean(f"{label['name']} {label['version']}") for label in suite["labels"])
        yield f"{labels}  {suite['digest']}"
    weighting = "not known" if page["weighting"] is None else clean(page["weighting"])
    yield f"weighting {weighting}, definition {clean(page['definition'])}; percent; retrieved {clean(page['retrieved_at'])}"
    marked = any(item["left_out"] is not None for item in items)
    names = max(LEAST, (width() - OTHER_COLUMNS) // 3 - 2)
    rows: list[tuple[str, ...]] = [("issued", "certificate", "model", "defenses", "attack", *(HEADS[name] for name in HEADLINE))]
    rows += [_row(item, names) for item in items]
    head, *lines = table(rows, right=frozenset(range(5, 9)))
    yield head
    for line, item in zip(lines, items, strict=True):
        yield line
        if item["left_out"] is not None:
            yield from wrapped(_why(item), "    ", "  does not compare: ")
    if items:
        yield "whole ids and names: --format json"
    else:
        yield "no certificate fits"
    left_out = ", ".join(f"{count} {clean(reason)}" for reason, count in page["left_out"].items())
    if left_out:
        hint = "" if marked else " (--include incomparable lists them)"
        yield from wrapped(f"{left_out}{hint}", "  ", "left out: ")


def _row(item: Mapping[str, Any], names: int) -> tuple[str, ...]:
    system, attack = item["system"], item["attack"]
    model = system["model"]
    defenses = system["defenses"]
    shown = "not recorded" if defenses is None else "+".join(defense["name"] for defense in defenses) or "none"
    return (
        (item.get("issued_at") or item["submitted_at"])[:10],
        shortened(item.get("certificate") or item["aggregate"], ID),
        shortened(", ".join(model["served"]) or model["requested"] or item.get("name") or "", names),
        shortened(shown, names),
        shortened("none" if attack is None else attack["name"], names),
        *(_number(item["metrics"].get(name)) for name in HEADLINE),
    )


def _why(item: Mapping[str, Any]) -> str:
    """The reason, and for an aggregate what a certificate would have needed."""
    codes = ", ".join(reason["code"] for reason in item.get("reasons", ()))
    return f"{item['left_out']}: {codes}" if codes else str(item["left_out"])


def _number(number: Mapping[str, Any] | None) -> str:
    return "" if number is None else percent(number["fraction"]) if "fraction" in number else "undefined"

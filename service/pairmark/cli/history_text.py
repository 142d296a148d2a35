"""History as a table, with the qualifiers without which a number must not be quoted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pairmark.cli.console import clean, table, wrapped
from pairmark.cli.figures import HEADLINE, percent


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
    rows: list[tuple[str, ...]] = [
        ("issued", "certificate", "model", "defenses", "attack", *(name.replace("_", " ") for name in HEADLINE))
        + (("does not compare",) if marked else ())
    ]
    rows += [_row(item, marked=marked) for item in items]
    yield from table(rows, right=frozenset(range(5, 9)))
    if not items:
        yield "no certificate fits"
    left_out = ", ".join(f"{count} {clean(reason)}" for reason, count in page["left_out"].items())
    if left_out:
        hint = "" if marked else " (--include incomparable lists them)"
        yield from wrapped(f"{left_out}{hint}", "  ", "left out: ")


def _row(item: Mapping[str, Any], *, marked: bool) -> tuple[str, ...]:
    system, attack = item["system"], item["attack"]
    model = system["model"]
    defenses = system["defenses"]
    shown = "not recorded" if defenses is None else "+".join(defense["name"] for defense in defenses) or "none"
    return (
        item.get("issued_at") or item["submitted_at"],
        item.get("certificate") or item["aggregate"],
        ", ".join(model["served"]) or model["requested"] or item.get("name") or "",
        shown,
        "none" if attack is None else attack["name"],
        *(_number(item["metrics"].get(name)) for name in HEADLINE),
        *((_why(item),) if marked else ()),
    )


def _why(item: Mapping[str, Any]) -> str:
    """The reason, and for an aggregate what a certificate would have needed."""
    codes = ", ".join(reason["code"] for reason in item.get("reasons", ()))
    return "" if item["left_out"] is None else f"{item['left_out']}: {codes}" if codes else item["left_out"]


def _number(number: Mapping[str, Any] | None) -> str:
    return "" if number is None else percent(number["fraction"]) if "fraction" in number else "undefined"

"""Released numbers as a table for people: percent, exact fraction, interval or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any, Final

from pairmark.cli.console import clean, table

HEADLINE: Final = ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate")


def number_lines(metrics: Mapping[str, Any]) -> Iterator[str]:
    """The table of every number in a `metrics` block, headline first, then what else there is by name."""
    rows: list[tuple[str, ...]] = [("", "percent", "exact", "95 % interval", "method")]
    reasons: list[str] = []
    names = [*HEADLINE, *sorted(set(metrics) - set(HEADLINE))]
    for name, value in ((name, metrics[name]) for name in names if name in metrics):
        for path, number in _numbers(name, value):
            row, reason = _row(path, number)
            rows.append(row)
            reasons += [f"{path}: {clean(reason)}"] if reason else []
    yield from table(rows, right=frozenset({1, 2}))
    for reason in reasons:
        yield f"  * {reason}"
    for path, counted in _counted("", metrics):
        yield f"  {path}: " + ", ".join(f"{clean(key)} {count}" for key, count in counted.items())


def percent(fraction: str) -> str:
    """An exact fraction in percent, two places, ties to even."""
    exact = Fraction(fraction) * 100
    return str((Decimal(exact.numerator) / Decimal(exact.denominator)).quantize(Decimal("0.01"), ROUND_HALF_EVEN))


def _numbers(path: str, value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Numbers below a value, by dotted path: whatever has an exact fraction, or is undefined with a reason."""
    if not isinstance(value, Mapping):
        return
    if "fraction" in value or ("reason" in value and value.get("value") is None):
        yield path, value
        return
    for key, inside in value.items():
        yield from _numbers(f"{path}.{key}", inside)


def _counted(path: str, value: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Groups of plain counts below a value, by dotted path; not those that stand behind a single number."""
    counts = {key: inside for key, inside in value.items() if isinstance(inside, int) and not isinstance(inside, bool)}
    if counts:
        yield path, counts
    for key, inside in value.items():
        if isinstance(inside, Mapping) and "fraction" not in inside and "reason" not in inside:
            yield from _counted(f"{path}.{key}" if path else key, inside)


def _row(path: str, number: Mapping[str, Any]) -> tuple[tuple[str, ...], str | None]:
    label = path.replace("_", " ")
    if "fraction" not in number:
        return (label, "undefined", "", "", ""), str(number.get("reason"))
    interval = number.get("interval") or {}
    shown = (label, percent(number["fraction"]), number["fraction"])
    if "low" not in interval:
        return (*shown, "none", ""), (str(interval["reason"]) if "reason" in interval else None)
    low, high = (f"{Decimal(interval[end]) * 100:.2f}" for end in ("low", "high"))
    return (*shown, f"{low} to {high}", str(interval.get("method", ""))), None

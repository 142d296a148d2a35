"""Released numbers for people: percent, exact fraction, interval or the reason why there is none; then what stands beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any, Final

from pairmark.cli.console import clean, table

HEADLINE: Final = ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate")
_BESIDE: Final = (
    ("cell_weighted.benign_utility", "benign utility, every cell once"),
    ("cell_weighted.utility_under_attack", "utility under attack, every cell once"),
    ("cell_weighted.attack_success_rate", "attack success, every cell once"),
    ("conditioned.on_clean_success", "utility under attack on clean success"),
    ("conditioned.on_clean_success.reference", "  the same of another benign epoch"),
    ("conditioned.on_delivery", "utility under attack on delivery"),
    ("conditioned.non_delivery_share", "completions that met no injection"),
    ("flips.rerun_flip_rate", "flips between two benign epochs"),
)
_ALIKE: Final = "the same whatever the outcomes are that nobody saw"


def figure_lines(metrics: Mapping[str, Any]) -> Iterator[str]:
    """A `metrics` block: what it is over, the table, and what stands beside the numbers."""
    yield f"weighting: {clean(metrics['weighting'])}, the same in both arms; scope of the intervals: {clean(metrics['scope'])}"
    rows: list[tuple[str, ...]] = [("", "percent", "exact", "95 % interval", "method, scope")]
    reasons: list[str] = []
    for path, label in (*((name, name.replace("_", " ")) for name in HEADLINE), *_BESIDE):
        number = _at(metrics, path)
        if number is not None:
            row, reason = _row(label, number, f"[{len(reasons) + 1}]")
            rows.append(row)
            reasons += [] if reason is None else [reason]
    yield from table(rows, right=frozenset({1, 2}))
    for index, reason in enumerate(reasons, 1):
        yield f"  [{index}] {clean(reason)}"
    yield from _bounds(metrics.get("bounds") or {})
    yield from _flips(metrics.get("flips") or {}, _at(metrics, "conditioned.exposure") or {})
    yield from _test(_at(metrics, "tests.no_effect") or {})
    yield from _tags(metrics.get("tags") or ())
    left_out = metrics.get("tasks_left_out")
    if left_out:
        yield f"tasks without an assessed cell in both arms, left out of every number: {clean(left_out)}"


def percent(fraction: str) -> str:
    """An exact fraction in percent, two places, ties to even."""
    exact = Fraction(fraction) * 100
    return str((Decimal(exact.numerator) / Decimal(exact.denominator)).quantize(Decimal("0.01"), ROUND_HALF_EVEN))


def _at(metrics: Mapping[str, Any], path: str) -> Any:
    value: Any = metrics
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _row(label: str, number: Mapping[str, Any], reference: str) -> tuple[tuple[str, ...], str | None]:
    """A row of the table, and the reason for what it lacks, which `reference` points to."""
    if "fraction" not in number:
        return (label, f"undefined {reference}", "", "", ""), str(number.get("reason"))
    interval = number["interval"]
    shown = (label, percent(number["fraction"]), number["fraction"])
    if "low" not in interval:
        return (*shown, f"none {reference}", ""), str(interval.get("reason"))
    low, high = (f"{Decimal(interval[end]) * 100:.2f}" for end in ("low", "high"))
    method = ", ".join(str(interval[key]) for key in ("method", "scope") if interval.get(key))
    return (*shown, f"{low} to {high}", method), None


def _bounds(bounds: Mapping[str, Any]) -> Iterator[str]:
    for name in HEADLINE:
        bound = bounds.get(name) or {}
        if "low_fraction" in bound and bound["low_fraction"] != bound["high_fraction"]:
            low, high = percent(bound["low_fraction"]), percent(bound["high_fraction"])
            yield f"{name.replace('_', ' ')} with unknown outcomes all against and all for it: {low} to {high} percent"
    if bounds and all(
        (bounds.get(name) or {}).get("low_fraction") == (bounds.get(name) or {}).get("high_fraction")
        for name in HEADLINE
    ):
        yield f"bounds: the rates are {_ALIKE}"


def _flips(flips: Mapping[str, Any], exposure: Mapping[str, Any]) -> Iterator[str]:
    if flips:
        counted = ", ".join(
            f"{flips[kind]} {kind}" for kind in ("lost", "gained", "kept", "neither", "unpaired") if kind in flips
        )
        yield f"flips against the same epoch's benign outcome: {counted}"
    if "completions" in exposure:
        kinds = (
            ("resisted", "with the injection delivered"),  # whether the attack too succeeded is not asked
            ("blocked", "blocked"),
            ("inert", "inert"),
            ("baseline_unknown", "of unknown baseline"),
        )
        counted = ", ".join(f"{exposure[key]} {words}" for key, words in kinds if key in exposure)
        yield f"{exposure['completions']} completions under attack: {counted}, {exposure.get('delivery_unknown', 0)} of unknown delivery"


def _test(test: Mapping[str, Any]) -> Iterator[str]:
    if "p_value" in test:
        yield f'"the attack changes nothing": p = {clean(test["p_value"])} ({clean(test["method"])})'
    elif test:
        yield f'"the attack changes nothing": not tested, {clean(test.get("reason"))}'


def _tags(tags: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    tested = [tag for tag in tags if tag.get("difference") is not None]
    if tags:
        yield f"tags: {len(tested)} of {len(tags)} tested (8 tasks with and 8 without the tag are needed)"
    rows: list[tuple[str, ...]] = [("tag", "tasks", "others", "difference of mean drop", "adjusted p")]
    for tag in tested:
        difference = f"{Decimal(tag['difference']) * 100:.2f}"
        rows.append((tag["tag"], str(tag["carrying"]), str(tag["lacking"]), difference, str(tag["p_adjusted"])))
    if tested:
        yield from (f"  {line}" for line in table(rows, right=frozenset({1, 2, 3, 4})))

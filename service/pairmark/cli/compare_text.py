"""A comparison in words and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from pairmark.cli.console import clean, table, wrapped
from pairmark.cli.figures import percent

RATES: Final = ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate")
_STANDINGS: Final = {
    "tied": "tied", "left-higher": "A higher", "right-higher": "B higher", "not-ranked": "not ranked"
}  # fmt: skip
_FLIPS_SHOWN: Final = 10


def comparison_lines(comparison: Mapping[str, Any]) -> Iterator[str]:
    """A `pairmark/comparison/v1`; A is its left side, every change is B minus A."""
    for name, side in (("A", "left"), ("B", "right")):
        yield from _side(name, comparison[side])
    yield from _mix(comparison["mix"], comparison["left"]["suite"], comparison["right"]["suite"])
    for difference in comparison["differs"]:
        yield from wrapped(
            f"{difference['field']}: {_text(difference['left'])} → {_text(difference['right'])}",
            "    ",
            "  differs in ",
        )
    yield from _changes(comparison["changes"])
    yield from _flips(comparison["flips"])
    yield from _conditioned(comparison["conditioned"])
    if comparison["decomposition"] is not None:
        yield from decomposition_lines(comparison["decomposition"])
    for caution in comparison["cautions"]:
        yield from wrapped(caution, "  ", "caution: ")


def refusal_lines(refusal: Any) -> Iterator[str]:
    """Why two pairs do not compare, and what does."""
    for found in refusal["differing"] or ():
        one = found if isinstance(found, Mapping) else found.model_dump(mode="json")
        yield from wrapped(f"{one['field']}: {_text(one['left'])} → {_text(one['right'])}", "    ", "  differs in ")
    nearest = refusal["nearest"]
    if nearest:
        if "common_cells" in nearest:
            shares = [
                "undefined" if nearest[side] is None else f"{percent(nearest[side]['fraction'])} %"
                for side in ("left_share", "right_share")
            ]
            yield (
                f"nearest comparable set: {nearest['common_cells']} common cells, of {nearest['left_cells']} in A ({shares[0]} of"
                f" its weight) and {nearest['right_cells']} in B ({shares[1]})"
            )
        for name, key in (("A", "compare_with_left"), ("B", "compare_with_right")):
            if nearest.get(key):
                yield from wrapped(", ".join(nearest[key]), "    ", f"  compares with {name}: ")
    split = refusal["decomposition"]
    if split is not None:
        yield from decomposition_lines(split if isinstance(split, Mapping) else split.model_dump(mode="json"))


def decomposition_lines(decomposition: Mapping[str, Any]) -> Iterator[str]:
    """Kitagawa's split of the change in each headline number."""
    rows: list[tuple[str, ...]] = [("headline number", "change", "within", "mix")]
    for rate in RATES:
        found = decomposition[rate]
        if "total" in found:
            rows.append(
                (rate.replace("_", " "), *(_signed(found[part]["fraction"]) for part in ("total", "within", "mix")))
            )
    yield "change of the headline numbers: within the cells, and by another mix of cells"
    yield from (f"  {line}" for line in table(rows, right=frozenset({1, 2, 3})))


def _side(name: str, side: Mapping[str, Any]) -> Iterator[str]:
    system = side["system"]
    defenses = "not recorded" if system["defenses"] is None else ", ".join(system["defenses"]) or "no defense"
    parts = (
        side["certificate"] or "from files", ", ".join(system["models"]) or "model not recorded", defenses,
        f"attack {system['attack'] or 'not recorded'}", system["harness"] or "harness not recorded",
        f"{side['policy']['name']}/{side['policy']['version']}",
    )  # fmt: skip
    yield f"{name}  {'  '.join(clean(part) for part in parts)}"


def _mix(mix: Mapping[str, Any], left: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    over = f"{mix['cells']} attacked cells of {mix['tasks']} tasks, weighting {mix['weighting']}, intervals for {mix['scope']}"
    if mix["kind"] == "same-mix":
        yield f"one suite, {clean(left['name'])} {left['digest']}: {over}"
    elif mix["kind"] == "common-mix":
        shares = " and ".join(f"{percent(mix[side]['fraction'])} %" for side in ("left_share", "right_share"))
        yield f"two suites, {clean(left['name'])} {left['digest']} and {clean(right['name'])} {right['digest']}"
        yield f"  on the common mix: {over}; {shares} of the weight of A and of B"
    else:
        yield f"two suites, {clean(left['name'])} {left['digest']} and {clean(right['name'])} {right['digest']}"
        yield f"  standardised to the mean of their mixes of groups: {over}"
    if mix["left_out"]:
        yield f"  {mix['left_out']} cells without a value on both sides are left out"


def _changes(changes: Mapping[str, Any]) -> Iterator[str]:
    adjusted = any((changes[rate].get("p_adjusted")) is not None for rate in RATES)
    rows = [("percent", "A", "B", "B - A", "95 % interval", "p (Holm)" if adjusted else "p", "")]
    reasons = []
    for rate in RATES:
        found = changes[rate]
        label = rate.replace("_", " ")
        if "left" not in found:
            reasons.append(f"{label}: {found['reason']}")
            continue
        interval = found["interval"]
        shown = "none" if "low" not in interval else f"{_points(interval['low'])} to {_points(interval['high'])}"
        if "low" not in interval:
            reasons.append(f"{label}: {interval['reason']}")
        p = found["p_adjusted"] if adjusted else found["p_value"]
        rows.append(
            (
                label, percent(found["left"]["fraction"]), percent(found["right"]["fraction"]),
                _signed(found["change"]["fraction"]), shown, p or "", _STANDINGS[found["standing"]],
            )
        )  # fmt: skip
    yield from table(rows, right=frozenset({1, 2, 3, 4, 5}))
    for reason in reasons:
        yield from wrapped(reason, "    ", "  ")


def _flips(flips: Mapping[str, Any] | None) -> Iterator[str]:
    if flips is None:
        return
    for key, label in (("utility_under_attack", "under attack"), ("benign_utility", "benign")):
        found = flips[key]
        yield (
            f"flips {label}: {found['left_only']} done by A only, {found['right_only']} by B only, {found['both']} by both,"
            f" {found['neither']} by neither"
        )
        for cell in found["cells"][:_FLIPS_SHOWN]:
            where = cell["task"] if cell["injection"] is None else f"{cell['task']} × {cell['injection']}"
            yield f"    {'A' if cell['flip'] == 'left-only' else 'B'} only: {clean(where)}, epoch {cell['epoch']}"
        rest = found["left_only"] + found["right_only"] - len(found["cells"][:_FLIPS_SHOWN])
        if rest:
            yield f"    and {rest} more (--format json lists the first 100)"


def _conditioned(conditioned: Mapping[str, Any]) -> Iterator[str]:
    for key, label in (("on_clean_success", "on clean success"), ("on_delivery", "on delivery")):
        found = conditioned[key]
        if "left" not in found:
            yield from wrapped(f"not compared, {found['reason']}", "    ", f"utility under attack {label}: ")
            continue
        interval = found["interval"]
        yield (
            f"utility under attack {label}: {percent(found['left']['fraction'])} → {percent(found['right']['fraction'])},"
            f" {_signed(found['change']['fraction'])} ({_points(interval['low'])} to {_points(interval['high'])})"
        )
        if found["caution"] is not None:
            yield from wrapped(found["caution"], "    ", "    ")


def _text(value: str | None) -> str:
    return "not recorded" if value is None else clean(value)


def _signed(fraction: str) -> str:
    shown = percent(fraction)
    return shown if shown.startswith("-") or Decimal(shown) == 0 else f"+{shown}"


def _points(decimal: str) -> str:
    return f"{Decimal(decimal) * 100:+.2f}"

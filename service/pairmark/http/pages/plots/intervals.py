"""A number with its interval as a bar and its worst-case bounds as whiskers, on a scale of rates or of differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

WIDTH: Final = 300
MARGIN: Final = 8


SCALES: Final = (0.1, 0.2, 0.5, 1, 2)
"""How far a scale of differences reaches to either side."""


@dataclass(frozen=True)
class IntervalBar:
    """Places on the drawing; None where there is no such thing. `ticks` are (place, label)."""

    point: float | None
    low: float | None
    high: float | None
    least: float | None
    most: float | None
    zero: float | None
    ticks: tuple[tuple[float, str], ...]


def interval_bar(number: Mapping[str, Any], bound: Mapping[str, Any] | None = None, *, low: float = 0, high: float = 1) -> IntervalBar:
    """Places of a number of a report, a change of a comparison or a rate of history, on a scale from `low` to `high`.

    What lies outside of the scale is drawn at its edge.
    """

    def place(value: object) -> float | None:
        if value is None:
            return None
        share = (min(max(float(str(value)), low), high) - low) / (high - low)
        return round(MARGIN + share * (WIDTH - 2 * MARGIN), 1)

    interval = number.get("interval") or {}
    bounded = bound or {}
    steps = 4
    ticks = tuple(
        (MARGIN + (WIDTH - 2 * MARGIN) * step / steps, f"{100 * (low + (high - low) * step / steps):g}".replace("-", "\N{MINUS SIGN}"))
        for step in range(steps + 1)
    )
    return IntervalBar(
        place(number.get("value")), place(interval.get("low")), place(interval.get("high")), place(bounded.get("low")),
        place(bounded.get("high")), place(0) if low < 0 else None, ticks,
    )  # fmt: skip


def difference_scale(changes: Iterable[Mapping[str, Any]]) -> float:
    """The smallest scale on which all of these changes and their intervals have room."""
    ends = [0.0]
    for change in changes:
        if "left" in change:
            interval = change["interval"]
            ends += [abs(float(end)) for end in (change["change"]["value"], interval.get("low"), interval.get("high")) if end is not None]
    return next((scale for scale in SCALES if max(ends) <= scale), SCALES[-1])

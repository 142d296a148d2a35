"""Rates of certificates over time, with intervals; a letter for each model with its defenses, since colour alone says nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from string import ascii_uppercase
from typing import Any, Final

from pairmark.http.pages.shown import defenses, models

WIDTH: Final = 860
HEIGHT: Final = 260
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 12, 30
DAY_SECONDS: Final = 86_400


@dataclass(frozen=True)
class Mark:
    """A certificate at its place: utility under attack with its interval, and benign utility with its own beside it."""

    certificate: str
    letter: str
    title: str
    x: float
    under: tuple[float, float | None, float | None] | None
    benign: tuple[float, float | None, float | None] | None


@dataclass(frozen=True)
class Series:
    """A model with its defenses, and the letter that stands for it."""

    letter: str
    model: str | None
    defenses: str | None


@dataclass(frozen=True)
class Timeline:
    """The drawing. `levels` are (place, percent), `days` (place, day)."""

    marks: tuple[Mark, ...]
    series: tuple[Series, ...]
    levels: tuple[tuple[float, int], ...]
    days: tuple[tuple[float, str], ...]


def timeline(items: Sequence[Mapping[str, Any]]) -> Timeline:
    """Certificates of a history page at the moments they were issued.

    Left out are aggregates, which have no place in it, and what does not compare: over another mix, revoked, superseded.
    """
    kept = [item for item in items if item.get("certificate") and item["left_out"] is None]
    moments = [datetime.fromisoformat(item["issued_at"]).timestamp() for item in kept]
    first, last = (min(moments), max(moments)) if moments else (0.0, 0.0)
    letters: dict[tuple[str | None, str | None], str] = {}
    marks = []
    for item, at in zip(kept, moments, strict=True):
        who = models(item["system"]), defenses(item["system"]["defenses"])
        letter = letters.setdefault(who, _letter(len(letters)))
        share = 0.5 if last == first else (at - first) / (last - first)
        x = round(LEFT + 16 + share * (WIDTH - LEFT - RIGHT - 32), 1)
        rates = item["metrics"]
        marks.append(
            Mark(
                item["certificate"], letter, f"{letter}: {item['issued_at'][:10]}", x, _place(rates.get("utility_under_attack")),
                _place(rates.get("benign_utility")),
            )
        )
    levels = tuple((_y(level / 100), level) for level in (0, 25, 50, 75, 100))
    return Timeline(
        tuple(marks), tuple(Series(letter, model, defense) for (model, defense), letter in letters.items()), levels, _days(first, last, bool(kept))
    )


def _letter(place: int) -> str:
    return ascii_uppercase[place] if place < len(ascii_uppercase) else f"{ascii_uppercase[place % 26]}{place // 26}"


def _days(first: float, last: float, there: bool) -> tuple[tuple[float, str], ...]:
    if not there:
        return ()
    ends = ((LEFT + 16, first), (WIDTH - RIGHT - 16, last)) if last > first else (((LEFT + WIDTH - RIGHT) / 2, first),)
    shown = "%Y-%m-%d" if last - first > DAY_SECONDS else "%Y-%m-%d %H:%M"
    return tuple((round(x, 1), datetime.fromtimestamp(at, UTC).strftime(shown)) for x, at in ends)


def _place(number: Mapping[str, Any] | None) -> tuple[float, float | None, float | None] | None:
    if number is None or number.get("value") is None:
        return None
    interval = number["interval"]
    low, high = (None if end not in interval else _y(float(interval[end])) for end in ("low", "high"))
    return _y(float(number["value"])), low, high


def _y(rate: float) -> float:
    return round(TOP + (1 - rate) * (HEIGHT - TOP - BOTTOM), 1)

"""Which values were seen in a column and what they became: counted while reading, bounded."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import polars as pl

from pairmark.importers.base import MOST_READINGS, Reading, Understood
from pairmark.importers.generic.cells import json_text, scalar_of
from pairmark.importers.generic.meanings import to_json_text

_MOST_DISTINCT = 10_000
_SHOWN_CHARACTERS = 200


@dataclass
class Tally:
    """The readings of one target."""

    target: str
    source: str | None
    rows: int = 0
    unknown: int = 0
    _seen: Counter[tuple[str | None, str | None]] = field(default_factory=Counter)
    _dropped: int = 0
    _apart: int = 0

    def add(self, raw: pl.Series | None, meant: pl.Series, apart: pl.Series | None = None) -> None:
        """Count a block: the values as read, and what they mean, row by row; `apart`: rows whose value is not looked at."""
        self.rows += len(meant)
        self.unknown += meant.null_count()
        if raw is None:
            return
        shortened = pl.col("raw").str.head(_SHOWN_CHARACTERS)
        pairs = pl.DataFrame({"raw": raw, "meant": meant.cast(pl.String)}).with_columns(shortened)
        if apart is not None:
            self._apart += int(apart.sum())
            pairs = pairs.filter(~apart)
        for value, meaning, rows in pairs.group_by("raw", "meant").len().rows():
            if (value, meaning) in self._seen or len(self._seen) < _MOST_DISTINCT:
                self._seen[value, meaning] += rows
            else:
                self._dropped += 1

    def understood(self) -> Understood:
        """What was counted, most frequent first."""
        ordered = sorted(self._seen.items(), key=lambda item: (-item[1], item[0][0] or "", item[0][1] or ""))
        readings = tuple(Reading(_shown(raw), rows, to_json_text(meant)) for (raw, meant), rows in ordered[:MOST_READINGS])
        if self._apart:
            readings += (Reading("(rows that broke off)", self._apart, None),)
        return Understood(
            self.target, self.source, self.rows, self.unknown, readings, max(0, len(ordered) - MOST_READINGS) + self._dropped
        )

    def undecided(self) -> list[tuple[str, int]]:
        """Values that mean nothing by the mapping, with their rows, most frequent first."""
        return [(_shown(raw), rows) for (raw, meant), rows in self._seen.most_common() if meant is None]


def _shown(raw: str | None) -> str:
    """JSON; what was cut, or is an object, as it stands."""
    if raw is None:
        return "null"
    if raw[0] == "j":
        return raw[1:]
    return json_text(scalar_of(raw, ""))

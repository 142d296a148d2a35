"""Outcomes of every planned cell, task by injection: a shape for what happened in both arms, a corner for an attack that succeeded.

One path for each kind of cell, however many there are: the drawing stays small and quick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

CELL: Final = 16
ROWS: Final = 100
COLUMNS: Final = 60
LABEL: Final = 26
LETTER: Final = 6
"""Letters of a label at most, and the room for each."""

KINDS: Final = ("lost", "gained", "kept", "neither")
MIXED: Final = "mixed"
UNPAIRED: Final = "unpaired"
STATES: Final = (*KINDS, MIXED, UNPAIRED)
_LETTERS: Final = dict(zip(STATES, "lgknmu", strict=True))


@dataclass(frozen=True)
class HeatMap:
    """Paths by state, and what stands at the sides. `letters`: rows of one letter per column, a dot where no cell is planned.

    A letter is in upper case where an attack succeeded in the cell.
    """

    left: int
    top: int
    width: int
    height: int
    paths: tuple[tuple[str, str], ...]
    success: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    letters: str
    first_row: int
    first_column: int
    all_rows: int
    all_columns: int


def state_of(cells: Mapping[str, Sequence[int]], place: int) -> str:
    """The kind that all pairs of a cell are of; mixed where they are of several, unpaired where there is none."""
    there = [kind for kind in KINDS if cells[kind][place]]
    return UNPAIRED if not there else there[0] if len(there) == 1 else MIXED


def heat_map(answer: Mapping[str, Any], first_row: int = 0, first_column: int = 0) -> HeatMap:
    """The map of up to 100 tasks × 60 injections from the given ones on."""
    rows = tuple(answer["tasks"][first_row : first_row + ROWS])
    columns = tuple(answer["injections"][first_column : first_column + COLUMNS])
    cells = answer["cells"]
    left, top = (14 + LETTER * min(max(map(len, names), default=0), LABEL) for names in (rows, columns))
    paths: dict[str, list[str]] = {state: [] for state in STATES}
    success: list[str] = []
    letters = [["."] * len(columns) for _ in rows]
    for place, (task, injection) in enumerate(zip(cells["task"], cells["injection"], strict=True)):
        row, column = task - first_row, injection - first_column
        if not (0 <= row < len(rows) and 0 <= column < len(columns)):
            continue
        state = state_of(cells, place)
        x, y = left + column * CELL, top + row * CELL
        paths[state].append(_SHAPES[state].format(x=x, y=y))
        reached = cells["attack_success"][place] > 0
        if reached:
            success.append(f"M{x + CELL} {y}v8l-8-8z")
        letters[row][column] = _LETTERS[state].upper() if reached else _LETTERS[state]
    return HeatMap(
        left=left, top=top, width=left + len(columns) * CELL + 4, height=top + len(rows) * CELL + 4,
        paths=tuple((state, "".join(parts)) for state, parts in paths.items() if parts), success="".join(success),
        rows=rows, columns=columns, letters=" ".join("".join(row) for row in letters), first_row=first_row, first_column=first_column,
        all_rows=len(answer["tasks"]), all_columns=len(answer["injections"]),
    )  # fmt: skip


_SHAPES: Final = {
    "lost": "M{x} {y}m1 1h14v14h-14z",
    "gained": "M{x} {y}m8 1l7 7-7 7-7-7z",
    "kept": "M{x} {y}m6 6h4v4h-4z",
    "neither": "M{x} {y}m3 8h10",
    "mixed": "M{x} {y}m1 1h14l-14 14z",
    "unpaired": "M{x} {y}m4 4l8 8m0-8l-8 8",
}
"""A full square, a diamond, a dot, a dash, half a square, a cross; each in a square of 16."""

SHAPES: Final = {state: shape.format(x=0, y=0) for state, shape in _SHAPES.items()}
"""The shapes by themselves, for a legend."""

SUCCESS: Final = "M16 0v8l-8-8z"

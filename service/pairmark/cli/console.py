"""What reaches the terminal: nothing unprintable from a file, colours only where a person looks, marks only beside words."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Final, TextIO

from pairmark.domain.errors import one_line

_STYLES: Final = {"good": "32", "bad": "31", "warn": "33", "dim": "2", "bold": "1"}
_MARKS: Final = {
    "passed": ("✓", "+"),
    "failed": ("✗", "x"),
    "held": ("⏸", "="),
    "not_applicable": ("–", "-"),
    "crashed": ("⚠", "!"),
}
_LONGEST: Final = 100_000


def prepare_streams() -> None:
    """Characters that the terminal's encoding lacks are escaped instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def clean(text: object) -> str:
    """Text from a file or a service as one printable line."""
    return one_line(str(text), _LONGEST)


def say(line: str = "") -> None:
    """One line for people on standard output."""
    print(line)


def say_all(lines: Iterable[str]) -> None:
    """Lines for people on standard output."""
    for line in lines:
        print(line)


def say_bytes(content: bytes) -> None:
    """Exactly these bytes and a newline on standard output."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content + b"\n")
    sys.stdout.buffer.flush()


def complain(text: str) -> None:
    """One line on standard error."""
    print(clean(text), file=sys.stderr)


def styled(text: str, style: str, stream: TextIO | None = None) -> str:
    """`text` in a style where the stream is a terminal that shows colours and NO_COLOR is not set."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if has_colours(sys.stdout if stream is None else stream) else text


def has_colours(stream: TextIO) -> bool:
    """Whether styles are shown: see the NO_COLOR convention."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def mark(outcome: str) -> str:
    """A sign for a rule's outcome, in ASCII where the stream's encoding has no better one."""
    best, plain = _MARKS[outcome]
    return best if (sys.stdout.encoding or "").lower().replace("-", "") == "utf8" else plain


def width() -> int:
    """Columns to wrap at: the terminal's, between 60 and 120; 100 where there is none."""
    if not sys.stdout.isatty():
        return 100
    return max(60, min(120, shutil.get_terminal_size().columns))


def wrapped(text: str, indent: str, first: str | None = None) -> list[str]:
    """Text from a file in lines of the terminal's width."""
    return textwrap.wrap(
        clean(text), width(), initial_indent=indent if first is None else first, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def shortened(text: object, columns: int) -> str:
    """Text in at most so many columns, both ends kept: names of one kind often differ at the end."""
    given = clean(text)
    if len(given) <= columns:
        return given
    tail = (columns - 2) // 2
    return f"{given[: columns - 2 - tail]}..{given[len(given) - tail :]}"


def table(rows: Iterable[tuple[str, ...]], *, right: frozenset[int] = frozenset()) -> list[str]:
    """Rows in aligned columns, two spaces apart; columns in `right` are flush right."""
    kept = [tuple(map(clean, row)) for row in rows]
    if not kept:
        return []
    widths = [max(len(row[column]) for row in kept) for column in range(len(kept[0]))]
    return [
        "  ".join(
            cell.rjust(size) if column in right else cell.ljust(size)
            for column, (cell, size) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in kept
    ]

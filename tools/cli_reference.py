"""Writes the reference in docs/cli.md, and the tables of exit codes, from the command itself: `python tools/cli_reference.py --write | --check`."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from pairmark.cli.exit_codes import page_table
from pairmark.cli.main import app, main

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
README = PAGE.parents[1] / "README.md"
START = "<!-- From here on written by tools/cli_reference.py -->\n"
TABLE = re.compile(r"^\| exit \| meaning \|\n(?:\|.*\n)+", re.MULTILINE)
COLUMNS = "80"


def commands(group: typer.Typer = app, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command and group, as words, a group before what is in it."""
    for each in group.registered_commands:
        yield (*words, str(each.name))
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            yield (*words, str(inner.name))
            yield from commands(inner.typer_instance, (*words, str(inner.name)))


def help_of(words: tuple[str, ...]) -> str:
    """What `--help` prints on a terminal of 80 columns."""
    out = io.StringIO()
    os.environ["COLUMNS"] = COLUMNS
    with contextlib.redirect_stdout(out):
        main([*words, "--help"])
    return "\n".join(line.rstrip() for line in out.getvalue().strip().splitlines())


def reference() -> str:
    """The generated part of the page."""
    parts = (f"### `{' '.join(('pairmark', *words))}`\n\n```\n{help_of(words)}\n```\n" for words in ((), *commands()))
    return "\n".join(("## Reference\n", *parts))


def page(written: str) -> str:
    """The page with its generated part brought up to date.

    Raises:
        ValueError: the page does not say where that part starts.
    """
    head, start, _ = written.partition(START)
    if not start:
        raise ValueError(f"expected a line {START.strip()!r} in {PAGE}, found none; add it where the reference starts")
    return f"{with_exit_codes(head)}{start}\n{reference()}"


def with_exit_codes(text: str) -> str:
    """A page's text with its table of exit codes brought up to date.

    Raises:
        ValueError: there is no such table.
    """
    changed, count = TABLE.subn(lambda _: page_table(), text, count=1)
    if count == 0:
        raise ValueError("expected a table that begins with | exit | meaning |, found none; add it where the exit codes are listed")
    return changed


if __name__ == "__main__":
    if sys.argv[1:] not in (["--write"], ["--check"]):
        sys.exit("usage: python tools/cli_reference.py --write | --check")
    for path, renewed in ((PAGE, page), (README, with_exit_codes)):
        before = path.read_text(encoding="utf-8")
        after = renewed(before)
        if sys.argv[1:] == ["--write"] and before != after:
            path.write_text(after, encoding="utf-8")
        elif before != after:
            sys.exit(f"{path} differs from the command's help; run python tools/cli_reference.py --write and commit the result")

"""Writes the reference part of docs/cli.md from the command's own help: `python tools/cli_reference.py --write | --check`."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from pairmark.cli.main import app, main

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
START = "<!-- From here on written by tools/cli_reference.py -->\n"
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
    return f"{head}{start}\n{reference()}"


if __name__ == "__main__":
    if sys.argv[1:] not in (["--write"], ["--check"]):
        sys.exit("usage: python tools/cli_reference.py --write | --check")
    before = PAGE.read_text(encoding="utf-8")
    after = page(before)
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(after, encoding="utf-8")
    elif before != after:
        sys.exit(
            f"{PAGE} differs from the command's help; run python tools/cli_reference.py --write and commit the result"
        )

"""`pairmark config`: what the service is set to."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from pairmark.cli.console import complain, say, say_all, say_bytes, table
from pairmark.cli.exit_codes import OK


def config(
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="text or json.")] = "text",
) -> int:
    """Show every setting of the service. Its variable, value, where that came from, default and meaning; secrets are masked."""
    import os
    from dataclasses import asdict

    from pairmark.domain.canonical import canonical_bytes
    from pairmark.http.described import described, unknown_variables

    found = described(os.environ)
    if form == "json":
        say_bytes(canonical_bytes([asdict(each) for each in found]))
    else:
        rows = [("variable", "value", "from", "default", "meaning")]
        rows += [(each.variable, _text(each.value), each.source, _text(each.default), each.meaning) for each in found]
        say_all(table(rows))
        say()
        say("Set a variable to change a setting; options of pairmark serve win over variables.")
    for name in unknown_variables(os.environ):
        complain(f"pairmark config: {name} is no setting of Pairmark; check its spelling")
    return OK


def _text(value: str | None) -> str:
    return "-" if value is None else value

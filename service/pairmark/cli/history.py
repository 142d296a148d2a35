"""`pairmark history`: certificates over one frozen mix."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pairmark.cli.console import clean, say_all
from pairmark.cli.embedded import DataFolder, client_at
from pairmark.cli.exit_codes import OK
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl


class Format(StrEnum):
    """How history is shown."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
    LATEX = "latex"


class Include(StrEnum):
    """What to list beside what compares."""

    INCOMPARABLE = "incomparable"


class Sort(StrEnum):
    """What certificates are ordered by."""

    DATE = "date"
    DROP = "drop"
    UTILITY = "utility"


def history(
    suite: Annotated[
        str, typer.Argument(metavar="SUITE", help="Digest, NAME@VERSION, NAME@latest, or a name with one content.")
    ],
    model: Annotated[str | None, typer.Option("--model", help="Requested or served model.")] = None,
    defense: Annotated[str | None, typer.Option("--defense", help="NAME, NAME@VERSION, or none.")] = None,
    attack: Annotated[str | None, typer.Option("--attack", help="Name of the attack.")] = None,
    harness: Annotated[str | None, typer.Option("--harness", help="NAME or NAME@VERSION.")] = None,
    scaffold: Annotated[str | None, typer.Option("--scaffold", help="NAME or NAME@VERSION.")] = None,
    policy: Annotated[str | None, typer.Option("--policy", help="NAME/VERSION.")] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="With an offset.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="With an offset.")] = None,
    bound: Annotated[
        list[str] | None,
        typer.Option(
            "--bound", metavar="RATE>=VALUE", help="Such as 'utility_drop<=0.1'; may be given again. Inclusive."
        ),
    ] = None,
    sort: Annotated[Sort, typer.Option("--sort", help="Order.")] = Sort.DATE,
    ascending: Annotated[bool, typer.Option("--ascending", help="Lowest or oldest first.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Certificates to show.")] = 100,
    cursor: Annotated[str | None, typer.Option("--cursor", help="Where the last answer ended.")] = None,
    include: Annotated[
        Include | None,
        typer.Option("--include", help="List, marked, what does not compare: other mixes, revoked ones, aggregates."),
    ] = None,
    digest: Annotated[
        str | None,
        typer.Option("--digest", metavar="DIGEST", help="What SUITE must mean; refused if it means another by now."),
    ] = None,
    format_: Annotated[
        Format,
        typer.Option(
            "--format",
            help="text: a table; json: the service's answer; csv, parquet, latex: with what a citation needs.",
        ),
    ] = Format.TEXT,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write here; it must not exist yet.")
    ] = None,
    service: ServiceUrl = DEFAULT_SERVICE,
    data: DataFolder = None,
) -> int:
    """List certificates over one frozen mix. Only comparable ones are listed; the others are counted by reason."""
    filters: dict[str, str | int | None] = {
        "model": model, "defense": defense, "attack": attack, "harness": harness, "scaffold": scaffold, "policy": policy,
        "since": since, "until": until, "sort": sort.value, "direction": "ascending" if ascending else "descending",
        "limit": limit, "cursor": cursor, "include": None if include is None else include.value, "digest": digest,
        **_bounds(bound or []),
    }  # fmt: skip
    with client_at(service, data) as client:
        reply = client.history(suite, **filters)
    if format_ is not Format.TEXT:
        _write(_content(reply.value, format_), output)
        return OK
    from pairmark.cli.history_text import history_lines

    lines = list(history_lines(reply.value))
    if reply.model.next is not None:
        lines.append(f"more: --cursor {clean(reply.model.next)}")
    if output is None:
        say_all(lines)
    else:
        _write("".join(f"{line}\n" for line in lines).encode(), output)
    return OK


def _content(page: dict[str, Any], form: Format) -> bytes:
    if form is Format.JSON:
        from pairmark.domain.canonical import canonical_bytes

        return canonical_bytes(page) + b"\n"
    from pairmark.adapters.tables.history import table_of

    return table_of(page, "csv" if form is Format.CSV else "parquet" if form is Format.PARQUET else "latex")


def _write(content: bytes, output: Path | None) -> None:
    """To a file of its own, or to standard output.

    Raises:
        Malformed: the file is there already.
    """
    from pairmark.domain.errors import Malformed

    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        return
    try:
        with output.open("xb") as target:
            target.write(content)
    except FileExistsError:
        raise Malformed(
            "exists", "expected a file that does not exist yet", str(output), remedy="choose another name"
        ) from None


def _bounds(given: list[str]) -> dict[str, Any]:
    """Bounds as the service takes them.

    Raises:
        Malformed: not a rate, a sign and a value.
    """
    from pairmark.domain.errors import Malformed, shown

    found = {}
    for text in given:
        sign = next((sign for sign in (">=", "<=") if sign in text), None)
        if sign is None:
            raise Malformed(
                "usage",
                f"expected --bound RATE>=VALUE or RATE<=VALUE, found {shown(text)}",
                remedy="such as 'utility_drop<=0.1'",
            )
        rate, _, value = text.partition(sign)
        found[f"{'min' if sign == '>=' else 'max'}_{rate.strip()}"] = value.strip()
    return found

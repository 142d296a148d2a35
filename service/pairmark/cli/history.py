"""`pairmark history`: certificates over one frozen mix."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from pairmark.cli.console import clean, say, say_all, say_bytes
from pairmark.cli.exit_codes import OK
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl, client_of


class Format(StrEnum):
    """How history is shown."""

    TEXT = "text"
    JSON = "json"


class Sort(StrEnum):
    """What certificates are ordered by."""

    DATE = "date"
    DROP = "drop"
    UTILITY = "utility"


def history(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="Digest, NAME@VERSION, or a name with one content.")],
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
    format_: Annotated[
        Format, typer.Option("--format", help="text: a table; json: the service's answer.")
    ] = Format.TEXT,
    service: ServiceUrl = DEFAULT_SERVICE,
) -> int:
    """List certificates over one frozen mix. Only comparable ones are in an answer."""
    filters: dict[str, str | int | None] = {
        "model": model, "defense": defense, "attack": attack, "harness": harness, "scaffold": scaffold, "policy": policy,
        "since": since, "until": until, "sort": sort.value, "direction": "ascending" if ascending else "descending",
        "limit": limit, "cursor": cursor, **_bounds(bound or []),
    }  # fmt: skip
    with client_of(service) as client:
        reply = client.history(suite, **filters)
    if format_ is Format.JSON:
        from pairmark.domain.canonical import canonical_bytes

        say_bytes(canonical_bytes(reply.value))
        return OK
    from pairmark.cli.history_text import history_lines

    say_all(history_lines(reply.value))
    if reply.model.next is not None:
        say(f"more: --cursor {clean(reply.model.next)}")
    return OK


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

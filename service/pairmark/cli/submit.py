"""`pairmark submit`: announce or seal a run on a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pairmark.cli.console import say
from pairmark.cli.exit_codes import OK
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl, client_of


def submit(
    bundle: Annotated[
        Path, typer.Argument(metavar="BUNDLE", help="A run bundle; to announce, run.json alone is enough.")
    ],
    announce: Annotated[
        bool,
        typer.Option("--announce", help="Announce the run before it starts: results, end and served model are null."),
    ] = False,
    run: Annotated[str | None, typer.Option("--run", metavar="ID", help="Seal this announced run.")] = None,
    service: ServiceUrl = DEFAULT_SERVICE,
) -> int:
    """Announce a run, or seal it with its episodes. Doing it again changes nothing.

    Without --run the run is taken as it is, marked as announced after the fact.
    """
    from pairmark.cli.submitting import announce as announce_run
    from pairmark.cli.submitting import submit as seal_run
    from pairmark.domain.errors import Malformed

    if announce and run is not None:
        raise Malformed(
            "usage", "expected either --announce or --run, found both", remedy="pairmark submit --help shows the usage"
        )
    with client_of(service) as client:
        answer, new = announce_run(client, bundle) if announce else seal_run(client, bundle, run)
    say(f"{answer.id}  {answer.state}{'' if new else ' already'}  {answer.digest}")
    if announce:
        say(f"when it has run: pairmark submit BUNDLE --run {answer.id}")
    return OK

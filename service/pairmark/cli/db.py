"""`pairmark db`: the database's migrations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pairmark.cli.console import clean, complain, say
from pairmark.cli.exit_codes import OK, REFUSED

app = typer.Typer(help="The service's database.", no_args_is_help=False)

DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Folder of the embedded database.  [env: PAIRMARK_DATA_DIR; default: pairmark-data]",
    ),
]
DatabaseUrl = Annotated[
    str | None, typer.Option("--database", metavar="URL", help="Another database.  [env: PAIRMARK_DATABASE_URL]")
]


def database_url(data: Path | None, database: str | None) -> str:
    """The database that the options and the environment name."""
    import os

    from pairmark.http.settings import Settings

    return Settings.of(os.environ, data_dir=data, database_url=database).database


@app.command("upgrade")
def upgrade(
    data: DataFolder = None,
    database: DatabaseUrl = None,
    wait: Annotated[
        int,
        typer.Option(
            "--wait", metavar="SECONDS", min=1, max=86_400,
            help="How long to wait for another one who migrates, and for tables in use (PostgreSQL).",
        ),
    ] = 60,
) -> int:
    """Bring the database up to date. An embedded one is made."""
    from pairmark.adapters.sql.migrate import upgrade as migrate

    url = database_url(data, database)
    before, after = migrate(url, seconds=wait, waiting=lambda who: say(f"waiting up to {wait} seconds for {clean(who)}, which migrates too"))
    where = _shown(url)
    if before == after:
        say(f"{where} is at revision {after} already")
    else:
        say(f"{where} upgraded from {before or 'nothing'} to revision {after}")
    return OK


@app.command("check")
def check(data: DataFolder = None, database: DatabaseUrl = None) -> int:
    """Check the database, and its server's settings.

    Against what this version expects. Exit: 0 it is so, 1 it is not.
    """
    from pairmark.adapters.sql.migrate import drift
    from pairmark.adapters.sql.server_settings import unsafe

    url = database_url(data, database)
    wrong = [*drift(url), *unsafe(url)]
    for line in wrong:
        complain(line)
    if wrong:
        return REFUSED
    say(f"{_shown(url)} is what this version of Pairmark expects")
    return OK


def _shown(url: str) -> str:
    """The database without its password."""
    from sqlalchemy import make_url

    return clean(make_url(url).render_as_string(hide_password=True))

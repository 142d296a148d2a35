"""`pairmark gc`: objects that nothing refers to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pairmark.cli.console import say
from pairmark.cli.exit_codes import OK

SHOWN = 20


def gc(
    delete: Annotated[bool, typer.Option("--delete", help="Remove them. Without it they are only counted.")] = False,
    older_than: Annotated[
        float, typer.Option("--older-than", metavar="HOURS", help="How long ago they were put, at the least; never under 1.")
    ] = 24.0,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="The service's folder.  [env: PAIRMARK_DATA_DIR; default: pairmark-data]"),
    ] = None,
) -> int:
    """Find stored objects that nothing in the database names.

    Interrupted uploads leave them. What a run, report, certificate or log entry names is never touched. Safe while the service runs.
    """
    import os
    import time
    from contextlib import closing

    from pairmark.adapters.objects.collecting import collect
    from pairmark.adapters.objects.opening import open_store
    from pairmark.adapters.sql.database import SqlDatabase
    from pairmark.adapters.sql.ready import require_head
    from pairmark.adapters.sql.references import named_in
    from pairmark.domain.errors import Malformed
    from pairmark.http.settings import Settings

    settings = Settings.of(os.environ, data_dir=data)
    if settings.embedded and not (settings.data_dir / "pairmark.db").is_file():
        raise Malformed("no-database", f"expected a database in {settings.data_dir}, found none", remedy="give --data, or PAIRMARK_DATABASE_URL")
    require_head(settings.database)
    with (
        closing(SqlDatabase.at(settings.database)) as database,
        closing(
            open_store(settings.store_url, settings.data_dir, endpoint=settings.store_endpoint, retry_seconds=settings.store_seconds)
        ) as ledgers,
    ):
        found = collect(
            ledgers.objects, lambda digests: named_in(database, digests), now=time.time(), older_than_hours=older_than, delete=delete
        )
    size = sum(each.size for each in found.unnamed)
    say(f"{found.objects} objects of {found.size} bytes; {found.young} too young to judge (under {older_than:g} hours)")
    for each in found.unnamed[:SHOWN]:
        say(f"  {each.digest}  {each.size} bytes")
    if len(found.unnamed) > SHOWN:
        say(f"  and {len(found.unnamed) - SHOWN} more")
    if delete and found.unnamed:
        say(f"{found.removed} of {len(found.unnamed)} objects that nothing names removed")
    elif found.unnamed:
        say(f"{len(found.unnamed)} objects of {size} bytes that nothing names; --delete removes them")
    else:
        say("nothing to remove")
    return OK

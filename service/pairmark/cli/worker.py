"""`pairmark worker`: a process that only works off queued certifications."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pairmark.cli.exit_codes import OK


def worker(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="DIR", help="Folder of the keys and of local copies.  [env: PAIRMARK_DATA_DIR; default: pairmark-data]"
        ),
    ] = None,
) -> int:
    """Work off queued certifications until told to stop.

    It needs what `serve` needs: the same database, object store and keys. A service works off its queue itself; more processes work off
    more certifications at once, on PostgreSQL.
    """
    from pairmark.http.working import work

    work(data)
    return OK

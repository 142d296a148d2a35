"""`pairmark serve`: the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pairmark.cli.exit_codes import OK, UNAVAILABLE


def serve(
    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="Address to listen on.  [env: PAIRMARK_HOST; default: 127.0.0.1]")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", metavar="N", min=0, max=65_535, help="Port; 0 lets the system choose.  [env: PAIRMARK_PORT; default: 8000]"
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Folder of the database and the ledgers.  [env: PAIRMARK_DATA_DIR; default: pairmark-data]",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", metavar="N", min=1, max=64, help="Processes that serve together.  [env: PAIRMARK_WORKERS; default: 1]"),
    ] = None,
) -> int:
    """Run the REST service until told to stop. Its embedded database migrates itself."""
    from pairmark.http.server import serve as run

    try:
        run(host=host, port=port, data_dir=data, workers=workers)
    except SystemExit as stop:  # the server has said why, such as a port in use
        return OK if stop.code in (0, None) else UNAVAILABLE
    return OK

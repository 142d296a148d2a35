"""How many entries the log has now: where a new key's window begins, unless somebody says otherwise."""

from __future__ import annotations

import os
from pathlib import Path

from pairmark.domain.errors import Malformed

_REMEDY = "name the database (--data, --database) or the service (--service) of this log, or give --from-index"


def log_size(keys: Path, *, data: Path | None, database: str | None, service: str | None) -> int:
    """Entries of the log whose keys are in a folder, asked of a service if one is named, else of its database.

    Raises:
        Malformed: no database there, or it is not the one that this log's signed heads came from.
    """
    if service is not None:
        return _published(keys, service)
    from pairmark.adapters.log.mark import HighWaterMark
    from pairmark.adapters.log.publisher import consistent_with_mark
    from pairmark.adapters.log.signing import trusted
    from pairmark.adapters.sql.database import SqlDatabase
    from pairmark.http.settings import Settings

    settings = Settings.of(os.environ, data_dir=data, database_url=database)
    file = settings.data_dir / "pairmark.db"
    if settings.embedded and not file.exists():
        raise Malformed("no-database", f"expected the database of this log at {file}, found none", remedy=_REMEDY)
    signing, stored = trusted(keys), SqlDatabase.at(settings.database)
    try:
        with stored.reading() as tables:
            consistent_with_mark(tables, HighWaterMark(keys, signing.origin))
            return tables.log.head().size
    finally:
        stored.close()


def _published(keys: Path, service: str) -> int:
    from pairmark.adapters.keys import read_chain
    from pairmark.cli.service import client_of
    from pairmark.provenance.checkpoint import open_checkpoint

    root = read_chain(keys).current
    with client_of(service) as client:
        return open_checkpoint(client.log.checkpoint(), root.origin, root.log_keys()).size

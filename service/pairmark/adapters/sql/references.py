"""Which digests the database names, wherever that is: what is named may not be collected."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sqlalchemy import LargeBinary, String, select

from pairmark.adapters.sql.database import SqlDatabase
from pairmark.adapters.sql.log_models import LogEntryRow

_digest = re.compile(rb"sha256:[0-9a-f]{64}")

ROWS_AT_ONCE = 200


def named_in(database: SqlDatabase, digests: Iterable[str]) -> set[str]:
    """Those of `digests` that stand in any text or document of any table: seals, reports, statements, the log, and what comes to be.

    Raises:
        Unavailable: the database cannot be read.
    """
    wanted = {digest.encode() for digest in digests}
    found: set[bytes] = set()
    with database.reading(), database.engine.connect() as connection:
        for table in LogEntryRow.metadata.sorted_tables:
            columns = [column for column in table.columns if isinstance(column.type, String | LargeBinary)]
            if not columns or not wanted:
                continue
            for row in connection.execution_options(yield_per=ROWS_AT_ONCE).execute(select(*columns)):
                for value in row:
                    if value is not None:
                        content = value.encode() if isinstance(value, str) else bytes(value)
                        found |= wanted & set(_digest.findall(content))
    return {digest.decode() for digest in found}

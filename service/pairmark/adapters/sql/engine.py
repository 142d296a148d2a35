"""Connecting. All that only one kind of database needs is here: SQLite's pragmas and how its transactions begin."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from pairmark.domain.errors import Malformed, shown

WRITES = "pairmark_writes"
"""Execution option of a connection whose transaction will write."""

DRIVERS = ("sqlite", "sqlite+pysqlite")

BUSY_SECONDS = 30
"""How long a SQLite writer waits for another one."""


def engine_of(url: str) -> Engine:
    """An engine for a database URL, such as `sqlite:///pairmark-data/pairmark.db`.

    Raises:
        Malformed: not the URL of a database that Pairmark can use.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise Malformed("bad-database-url", f"expected a database URL, found {shown(url)}", remedy="see docs/api.md") from None
    if parsed.drivername not in DRIVERS:
        raise Malformed(
            "bad-database-url", f"expected a sqlite:/// URL, found one of {shown(parsed.drivername)}",
            remedy="this version of Pairmark stores in SQLite",
        )
    if not parsed.database or parsed.database == ":memory:":
        raise Malformed(
            "bad-database-url", "expected a SQLite file, found a database in memory, which every connection would have its own of",
            remedy="name a file: sqlite:///path/to/pairmark.db",
        )
    engine = create_engine(parsed, pool_size=8, max_overflow=32, pool_timeout=BUSY_SECONDS, hide_parameters=True)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver must not begin transactions of its own
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes the lock at once: a reader that turned into a writer later would fail instead of waiting.
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

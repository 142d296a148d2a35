"""SQLite: its pragmas, and how its transactions begin."""

from __future__ import annotations

from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from pairmark.domain.errors import Malformed

DRIVERS = ("sqlite", "sqlite+pysqlite")

BUSY_SECONDS = 30
"""How long a writer waits for another one."""


def engine_of(url: URL) -> Engine:
    """An engine for a SQLite file.

    Raises:
        Malformed: a database in memory.
    """
    if not url.database or url.database == ":memory:":
        raise Malformed(
            "bad-database-url", "expected a SQLite file, found a database in memory, which every connection would have its own of",
            remedy="name a file: sqlite:///path/to/pairmark.db",
        )
    engine = create_engine(url, pool_size=8, max_overflow=32, pool_timeout=BUSY_SECONDS, hide_parameters=True)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver must not begin transactions of its own
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin(connection: Connection) -> None:
    # A writer takes the lock at once: a reader that turned into a writer later would fail instead of waiting.
    writes = connection.get_execution_options().get("pairmark_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

"""Connecting: one way in for both kinds of database. What only one of them needs is in `sqlite` and `postgresql`."""

from __future__ import annotations

from sqlalchemy import Engine, make_url
from sqlalchemy.exc import ArgumentError

from pairmark.adapters.sql import postgresql, sqlite
from pairmark.domain.errors import Malformed, shown

WRITES = "pairmark_writes"
"""Execution option of a connection whose transaction will write."""

CONNECTIONS = 20
"""The most connections of one process, unless the operator says otherwise."""


def engine_of(url: str, connections: int = CONNECTIONS) -> Engine:
    """An engine for a database URL, such as `sqlite:///pairmark-data/pairmark.db` or `postgresql://pairmark@db.example/pairmark`.

    Args:
        url: of SQLite or PostgreSQL.
        connections: the most that are open at once (PostgreSQL; a SQLite file has its own bound).

    Raises:
        Malformed: not the URL of a database that Pairmark can use.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise Malformed(
            "bad-database-url", "expected a database URL, found another text", remedy="write it as in docs/database.md"
        ) from None
    if parsed.drivername in sqlite.DRIVERS:
        return sqlite.engine_of(parsed)
    if parsed.drivername in postgresql.DRIVERS:
        return postgresql.engine_of(parsed, connections)
    raise Malformed(
        "bad-database-url", f"expected a sqlite:/// or postgresql:// URL, found one of {shown(parsed.drivername)}",
        remedy="Pairmark stores in SQLite, or in PostgreSQL by psycopg: see docs/database.md",
    )


def reading(engine: Engine) -> Engine:
    """The engine for transactions that only read: each is one view that does not change."""
    return engine if engine.dialect.name == "sqlite" else postgresql.reading(engine)


def writing(engine: Engine) -> Engine:
    """The engine for transactions that write: one at a time, each on a view that holds all that was committed before it."""
    marked = engine.execution_options(**{WRITES: True})
    return marked if engine.dialect.name == "sqlite" else postgresql.writing(marked)

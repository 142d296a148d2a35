"""PostgreSQL: connections that give up in time, views that do not change, writers one at a time.

A writer begins by locking the row of the log's head (`SELECT … FOR UPDATE`), under READ COMMITTED. So whatever it reads next holds
everything that was committed before it, and nobody else writes until it is done: what `BEGIN IMMEDIATE` is on SQLite, and use cases
need not know the difference. See docs/adr/0013.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from pairmark.domain.errors import Malformed

DRIVERS = ("postgresql", "postgresql+psycopg", "postgres")

OLDEST = 15
"""Oldest major version that Pairmark is tested with."""

POOL_SECONDS = 30
"""How long a thread waits for a free connection."""

LOCK_SECONDS = 30
"""How long a statement waits for a lock; a writer for the others."""

STATEMENT_SECONDS = 60
"""How long a statement may run, waiting included."""

IDLE_SECONDS = 60
"""How long a transaction may do nothing before the server ends it, so that a frozen process does not lock out the others."""

CONNECT_SECONDS = 5

_CONNECTING: dict[str, Any] = {
    "connect_timeout": CONNECT_SECONDS, "application_name": "pairmark", "client_encoding": "utf8",
    "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 30_000,
    "prepare_threshold": None,  # plans would go stale under a migration, and get lost behind a pooler
}
"""What the URL may set otherwise."""

_SETTINGS: dict[str, str] = {
    "statement_timeout": str(STATEMENT_SECONDS * 1000),
    "lock_timeout": str(LOCK_SECONDS * 1000),
    "idle_in_transaction_session_timeout": str(IDLE_SECONDS * 1000),
    "timezone": "UTC",
}

# With `off`, a commit is seen by others before it is on the disk: a head could be signed that a crash then takes back.
_DURABLE = (
    "set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
    " WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)"
)

PREPARING = "SELECT " + ", ".join([*(f"set_config('{name}', '{value}', false)" for name, value in _SETTINGS.items()), _DURABLE])
"""What every connection begins with, outside a transaction."""

_LOCK = "SELECT size FROM log_head FOR UPDATE"


def engine_of(url: URL, connections: int) -> Engine:
    """An engine for a PostgreSQL database, of which this process opens at most so many connections.

    Raises:
        Malformed: a URL that names no database.
    """
    if not url.database:
        raise Malformed(
            "bad-database-url", "expected the name of a database in the URL, found none",
            remedy="write it as postgresql://USER@HOST/DATABASE",
        )
    lasting = max(1, connections // 2)
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"), pool_size=lasting, max_overflow=connections - lasting, pool_timeout=POOL_SECONDS,
        pool_pre_ping=True, pool_recycle=1800, pool_use_lifo=True, hide_parameters=True, isolation_level="READ COMMITTED",
        connect_args=_added(url),
    )  # fmt: skip
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def connecting(url: URL) -> dict[str, Any]:
    """Parameters of psycopg for connections beside the engine's."""
    from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

    given = PGDialect_psycopg().create_connect_args(url)[1]  # type: ignore[no-untyped-call]
    return {**given, **_added(url)}


def _added(url: URL) -> dict[str, Any]:
    return {name: value for name, value in _CONNECTING.items() if name not in url.query}


def reading(engine: Engine) -> Engine:
    """For transactions that only read: one snapshot, from the first statement to the end."""
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def writing(engine: Engine) -> Engine:
    """For transactions that write; READ COMMITTED, whatever the server's own default is."""
    return engine.execution_options(isolation_level="READ COMMITTED", postgresql_readonly=False)


def _prepare(connection: Any, _record: object) -> None:
    before, connection.autocommit = connection.autocommit, True
    with connection.cursor() as cursor:
        cursor.execute(PREPARING)
    connection.autocommit = before


def _begin(connection: Connection) -> None:
    if connection.get_execution_options().get("pairmark_writes", False):
        connection.exec_driver_sql(_LOCK)

"""One who migrates at a time, and nobody waits without saying for whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from pairmark.adapters.sql.engine import WRITES
from pairmark.adapters.sql.failures import sqlstate_of
from pairmark.app.errors import Unavailable

Waiting = Callable[[str], None]
"""Told who is waited for, in words."""

LOCK = 0x7061_6972_6D61_726B
"""Key of the advisory lock: `pairmark` in ASCII."""

LOCK_NOT_AVAILABLE = "55P03"

_LOCKED_BY = text(
    "SELECT a.pid, a.application_name, coalesce(host(a.client_addr), 'this machine'), date_trunc('second', now() - a.xact_start)::text"
    " FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE l.locktype = 'advisory' AND l.granted"
    " AND ((l.classid::bigint << 32) | l.objid::bigint) = :key AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_USED_BY = text(
    "SELECT pid, application_name, coalesce(host(client_addr), 'this machine'), date_trunc('second', now() - xact_start)::text"
    " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL"
    " AND backend_type = 'client backend' ORDER BY xact_start LIMIT 3"
)


@contextmanager
def alone(engine: Engine, seconds: int, waiting: Waiting | None) -> Iterator[Connection]:
    """A transaction to migrate in, which nobody else is in.

    Raises:
        Unavailable: somebody else is in one for longer than `seconds`, or uses a table that is to be changed; it says who.
    """
    if engine.dialect.name == "sqlite":
        with engine.execution_options(**{WRITES: True}).begin() as connection:
            yield connection
        return
    try:
        with engine.begin() as connection:
            connection.execute(
                text("SELECT set_config('lock_timeout', :wait, true), set_config('statement_timeout', '0', true),"
                     " set_config('application_name', 'pairmark db upgrade', true)"), {"wait": f"{seconds}s"},
            )  # fmt: skip
            _lock(engine, connection, seconds, waiting)
            yield connection
    except DBAPIError as problem:
        if sqlstate_of(problem) != LOCK_NOT_AVAILABLE:
            raise
        raise Unavailable(
            "database-in-use", f"expected to change tables within {seconds} seconds, found them in use by {_people(engine, _USED_BY)}",
            "let it finish, or stop it, and run `pairmark db upgrade` again; nothing was changed",
        ) from problem


def _lock(engine: Engine, connection: Connection, seconds: int, waiting: Waiting | None) -> None:
    if connection.execute(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": LOCK}).scalar_one():
        return
    if waiting is not None:
        waiting(_people(engine, _LOCKED_BY))
    try:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
    except DBAPIError as problem:
        if sqlstate_of(problem) != LOCK_NOT_AVAILABLE:
            raise
        raise Unavailable(
            "database-in-use", f"expected to migrate alone within {seconds} seconds, found at it {_people(engine, _LOCKED_BY)}",
            "wait for it, or look at what it does, and run `pairmark db upgrade` again; nothing was changed",
        ) from problem


def _people(engine: Engine, asked: object) -> str:
    """Who holds it, from a connection of its own: the one that waited is cut off by now."""
    with engine.connect() as connection:
        rows = connection.execute(asked, {"key": LOCK} if asked is _LOCKED_BY else {}).all()  # type: ignore[call-overload]
    if not rows:
        return "somebody who has just finished"
    return "; ".join(f"process {pid} ({name or 'no name'}, from {host}, for {age})" for pid, name, host, age in rows)

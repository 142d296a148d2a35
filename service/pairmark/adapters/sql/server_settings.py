"""Whether a PostgreSQL server keeps what it acknowledges: a log signs what is committed, and a crash must not take that back."""

from __future__ import annotations

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from pairmark.adapters.sql.engine import engine_of
from pairmark.adapters.sql.failures import unavailability
from pairmark.adapters.sql.postgresql import OLDEST

_NEEDED = {
    "fsync": "a crash of the machine loses what was committed and signed",
    "full_page_writes": "a crash of the machine may leave half-written pages",
}


def unsafe(url: str) -> list[str]:
    """What makes the server at `url` unfit, one line each; nothing for SQLite, whose settings Pairmark makes itself.

    Raises:
        Unavailable: the database cannot be read.
    """
    engine = engine_of(url)
    try:
        if engine.dialect.name == "sqlite":
            return []
        with engine.connect() as connection:
            return list(_unsafe(connection))
    except DBAPIError as problem:
        found = unavailability(problem)
        if found is None:
            raise
        raise found from problem
    finally:
        engine.dispose()


def _unsafe(connection: Connection) -> list[str]:
    def asked(statement: str) -> str:
        return str(connection.execute(text(statement)).scalar_one())

    wrong = []
    version = int(asked("SHOW server_version_num"))
    if version < OLDEST * 10_000:
        wrong.append(f"expected PostgreSQL {OLDEST} or newer, found {asked('SHOW server_version')}")
    encoding = asked("SHOW server_encoding")
    if encoding != "UTF8":
        wrong.append(f"expected a database in UTF8, found {encoding}; make one with `createdb --encoding UTF8 --template template0`")
    for setting, why in _NEEDED.items():
        if asked(f"SHOW {setting}") != "on":
            wrong.append(f"expected the server setting {setting} on, found it off: {why}")
    if asked("SELECT pg_is_in_recovery()") == "True":
        wrong.append("expected the primary server, found a standby, which cannot be written; name the primary")
    return wrong

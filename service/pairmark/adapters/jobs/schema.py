"""The queue library's tables: made from what is installed, and brought up to it by the library's own migrations.

Which of these a database has had is noted at its table of jobs, as the name of the last one. A newer library with newer migrations needs a new
migration of Pairmark's that calls `bring_up` again; on a database made since, that finds nothing to do.
"""

from __future__ import annotations

from pathlib import Path

import psycopg
from procrastinate.schema import SchemaManager
from psycopg import sql
from sqlalchemy import Connection, text

KNOWN = "03.04.00_50_post_add_retry_failed_job_procedure.sql"
"""The library's last migration that some migration of Pairmark's has brought databases to."""

_MARK = "SELECT obj_description(to_regclass('procrastinate_jobs'), 'pg_class')"


def installed() -> tuple[str, ...]:
    """Names of the migrations of the library that is installed, in order."""
    return tuple(sorted(path.name for path in Path(SchemaManager.get_migrations_path()).glob("*.sql")))


def bring_up(connection: Connection) -> None:
    """Make the library's tables, or bring them up to the library that is installed, in this transaction of a PostgreSQL database."""
    newest = installed()[-1]
    if connection.execute(text("SELECT to_regclass('procrastinate_jobs')")).scalar_one() is None:
        _run(connection, SchemaManager.get_schema())
    else:
        mark = connection.execute(text(_MARK)).scalar_one() or KNOWN
        for name in installed():
            if name > mark:
                _run(connection, (Path(SchemaManager.get_migrations_path()) / name).read_text(encoding="utf-8"))
    _driver(connection).execute(sql.SQL("COMMENT ON TABLE procrastinate_jobs IS {}").format(newest))


def remove(connection: Connection) -> None:
    """Remove everything of the library's."""
    _run(
        connection,
        r"""
        DROP TABLE procrastinate_events, procrastinate_periodic_defers, procrastinate_jobs, procrastinate_workers CASCADE;
        DO $$
        DECLARE
            found record;
        BEGIN
            FOR found IN
                SELECT p.oid::regprocedure AS name FROM pg_proc p
                WHERE p.pronamespace = current_schema()::regnamespace AND p.proname LIKE 'procrastinate\_%'
            LOOP
                EXECUTE 'DROP FUNCTION ' || found.name;
            END LOOP;
            FOR found IN
                SELECT t.oid::regtype AS name FROM pg_type t
                WHERE t.typnamespace = current_schema()::regnamespace AND t.typname LIKE 'procrastinate\_%' AND t.typtype IN ('c', 'e')
            LOOP
                EXECUTE 'DROP TYPE ' || found.name;
            END LOOP;
        END
        $$
        """,
    )


def _run(connection: Connection, statements: str) -> None:
    """Several statements at once, without parameters: the library's text holds percent signs."""
    _driver(connection).execute(statements.encode())


def _driver(connection: Connection) -> psycopg.Connection[tuple[object, ...]]:
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError(f"expected a connection of psycopg, found {driver!r}")
    return driver

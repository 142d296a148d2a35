"""One request, one transaction, one commit site."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlmodel import Session

from pairmark.adapters.sql.engine import WRITES, engine_of
from pairmark.adapters.sql.tables.all import SqlTables
from pairmark.app.errors import Unavailable
from pairmark.domain.errors import one_line

ResultT = TypeVar("ResultT")

TRIES = 3
"""How often work runs when another writer keeps coming first."""


class SqlDatabase:
    """A `Database` on SQLAlchemy."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._writing = engine.execution_options(**{WRITES: True})
        self.after_logging: Callable[[], object] | None = None
        """Called after a commit that logged something, before its writer goes on: publishes the log."""

    @classmethod
    def at(cls, url: str) -> SqlDatabase:
        """The database at a URL."""
        return cls(engine_of(url))

    @contextmanager
    def reading(self) -> Iterator[SqlTables]:
        """One consistent view. Whatever was written through it is rolled back."""
        with _availability(), Session(self.engine) as session:
            yield SqlTables(session)

    def write(self, work: Callable[[SqlTables], ResultT]) -> ResultT:
        """Run `work` in one transaction and commit; again on a fresh view when another writer came first."""
        for _ in range(TRIES - 1):
            try:
                return self._write_once(work)
            except IntegrityError:
                continue
        return self._write_once(work)

    def _write_once(self, work: Callable[[SqlTables], ResultT]) -> ResultT:
        with _availability(), Session(self._writing) as session:
            tables = SqlTables(session)
            result = work(tables)
            session.commit()
        if tables.grown and self.after_logging is not None:
            self.after_logging()
        return result

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


@contextmanager
def _availability() -> Iterator[None]:
    """Say in Pairmark's words that the database cannot serve now."""
    try:
        yield
    except PoolTimeout:
        raise Unavailable("database-busy", "expected a free database connection, found none", "try again a little later") from None
    except OperationalError as problem:
        raise Unavailable(
            "database-unavailable", f"expected the database to answer, found: {one_line(str(problem.orig), 200)}", "try again a little later"
        ) from problem
    except DBAPIError as problem:
        if problem.connection_invalidated:
            raise Unavailable("database-unavailable", "expected the database to answer, found the connection lost", "try again") from problem
        raise

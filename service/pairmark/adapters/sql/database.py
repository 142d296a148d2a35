"""One request, one transaction, one commit site."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlmodel import Session

from pairmark.adapters.sql.engine import CONNECTIONS, engine_of, reading, writing
from pairmark.adapters.sql.failures import LATER, may_be_tried_again, outcome_is_unknown, unavailability
from pairmark.adapters.sql.tables.all import SqlTables
from pairmark.adapters.sql.tables.audit import Changes
from pairmark.app.errors import Unavailable
from pairmark.app.log_records import LogHead
from pairmark.app.moments import moment
from pairmark.app.people_records import Actor
from pairmark.domain.access import LOCAL

ResultT = TypeVar("ResultT")

SERVICE = Actor(LOCAL, "service")
"""Who acts where no request does: the service itself, and commands on its database."""

TRIES = 3
"""How often work runs when another writer keeps coming first."""


class SqlDatabase:
    """A `Database` on SQLAlchemy."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._reading, self._writing = reading(engine), writing(engine)
        self.before_logging: Callable[[SqlTables, LogHead], object] | None = None
        """Called before a commit that logs something, with the head that it extends: refuses what could not be published."""
        self.after_logging: Callable[[], object] | None = None
        """Called after a commit that logged something, before its writer goes on: publishes the log."""
        self._owing: set[object] = set()
        self._here = threading.local()
        self.actor = SERVICE

    def acting(self, actor: Actor) -> SqlDatabase:
        """The same database as one caller sees it, whose changes are noted as that caller's."""
        seen = copy(self)
        seen.actor = actor
        return seen

    @classmethod
    def at(cls, url: str, connections: int = CONNECTIONS) -> SqlDatabase:
        """The database at a URL, with at most so many connections."""
        return cls(engine_of(url, connections))

    @contextmanager
    def reading(self) -> Iterator[SqlTables]:
        """One consistent view. Nothing can be written through it: what is tried is refused or rolled back."""
        with _availability(), Session(self._reading) as session:
            yield SqlTables(session, self.actor.viewer)

    def write(self, work: Callable[[SqlTables], ResultT]) -> ResultT:
        """Run `work` in one transaction and commit; again on a fresh view when another writer came first.

        While something that was stored could not be published, nothing more is stored.
        """
        if self._owing and not self._publishes_now:
            self._publish()
        with _availability():
            result, grown = self._written(work)
        if grown and self.after_logging is not None:
            try:
                self._publish()
            except Unavailable as problem:
                raise replace(problem, message=f"expected to publish what is stored already: {problem.message}") from problem
        return result

    def _written(self, work: Callable[[SqlTables], ResultT]) -> tuple[ResultT, bool]:
        for _ in range(TRIES - 1):
            try:
                return self._write_once(work)
            except DBAPIError as problem:
                if not may_be_tried_again(problem):
                    raise
        return self._write_once(work)

    def _write_once(self, work: Callable[[SqlTables], ResultT]) -> tuple[ResultT, bool]:
        with Session(self._writing) as session:
            who, changes = self.actor.principal, Changes(session)
            tables = SqlTables(session, self.actor.viewer, who.owner)
            result = work(tables)
            session.flush()
            if changes.found:
                tables.audit.add(f"audit-{secrets.token_hex(16)}", moment(datetime.now(UTC)), self.actor, changes.found)
            if tables.extends is not None and self.before_logging is not None:
                self.before_logging(tables, tables.extends)
            try:
                session.commit()
            except DBAPIError as problem:
                if not outcome_is_unknown(problem):
                    raise
                if tables.grown:
                    self._owing.add(object())
                raise Unavailable(
                    "outcome-unknown", "expected the database to confirm what was stored, found the connection lost: it may be stored or not",
                    "send the same request again, with the same Idempotency-Key if it had one",
                ) from problem
        return result, tables.grown

    @property
    def _publishes_now(self) -> bool:
        """Whether this very thread is inside `after_logging`, which writes too."""
        return getattr(self._here, "publishing", False)

    def _publish(self) -> None:
        """Publish the log; where that fails, it is owed."""
        paid = set(self._owing)
        self._here.publishing = True
        try:
            if self.after_logging is not None:
                self.after_logging()
        except BaseException:
            self._owing.add(object())
            raise
        finally:
            self._here.publishing = False
        self._owing.difference_update(paid)

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


@contextmanager
def _availability() -> Iterator[None]:
    """Say in Pairmark's words that the database cannot serve now."""
    try:
        yield
    except PoolTimeout:
        raise Unavailable("database-busy", "expected a free database connection, found none", LATER) from None
    except DBAPIError as problem:
        found = unavailability(problem)
        if found is None:
            raise
        raise found from problem

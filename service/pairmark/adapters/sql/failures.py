"""What a database's errors mean: in Pairmark's words, without the server's address, user or statement."""

from __future__ import annotations

import logging

from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError

from pairmark.app.errors import Unavailable
from pairmark.domain.errors import one_line

log = logging.getLogger("pairmark.sql")

LATER = "try again a little later"

_MEANINGS: tuple[tuple[str, str, str, str], ...] = (
    ("40", "database-busy", "expected to come first, found other writers first each time", LATER),
    ("55P03", "database-busy", "expected a turn to write, found others at it all the time", LATER),
    ("57014", "database-busy", "expected the database to answer in time, found it too slow", LATER),
    ("53100", "database-unavailable", "expected the database to have room, found its disk full", "free space on the database's disk"),
    ("53300", "database-busy", "expected a database connection, found all of them taken", LATER),
    ("53", "database-unavailable", "expected the database to have what it needs, found it short of memory or another resource", LATER),
    ("57P03", "database-unavailable", "expected the database to answer, found it starting or stopping", LATER),
    ("57P", "database-unavailable", "expected the database to answer, found it stopped", LATER),
    ("08", "database-unavailable", "expected the database to answer, found the connection lost", LATER),
    ("25P03", "database-busy", "expected the work to go on, found it paused for so long that the database gave it up", LATER),
    ("25006", "database-read-only", "expected a database that can be written, found one that only reads", "name the primary, not a standby"),
    ("28", "database-unavailable", "expected the database to let the service in, found its name or password refused",
     "check PAIRMARK_DATABASE_URL"),
    ("3D000", "database-unavailable", "expected the database that the URL names, found none of that name", "make it: see docs/database.md"),
    ("42501", "database-unavailable", "expected the rights on Pairmark's tables, found them missing", "grant them: see docs/database.md"),
    ("42P01", "not-migrated", "expected Pairmark's tables, found one missing", "run `pairmark db upgrade`"),
    ("42703", "not-migrated", "expected the columns of this version, found one missing", "run `pairmark db upgrade`"),
    ("58", "database-unavailable", "expected the database to read and write its files, found that it cannot", "look at the database's log"),
)  # fmt: skip
"""Beginning of an SQLSTATE, and the code, message and remedy of the refusal; the first that fits counts."""


def sqlstate_of(problem: DBAPIError) -> str | None:
    """The SQLSTATE that a PostgreSQL server gave, if it gave one."""
    found = getattr(problem.orig, "sqlstate", None)
    return found if isinstance(found, str) else None


def may_be_tried_again(problem: DBAPIError) -> bool:
    """Whether the work, done again on a fresh view, may succeed: another writer came first."""
    state = sqlstate_of(problem)
    return isinstance(problem, IntegrityError) or (state is not None and state.startswith("40"))


def outcome_is_unknown(problem: DBAPIError) -> bool:
    """Whether a failed COMMIT may have been done all the same: the connection was lost before the answer came."""
    if type(problem.orig).__module__.partition(".")[0] == "sqlite3":
        return False
    state = sqlstate_of(problem)
    return problem.connection_invalidated or state is None or state.startswith(("08", "57P"))


def unavailability(problem: DBAPIError) -> Unavailable | None:
    """The refusal that a database's error is; None for one that is a fault of Pairmark's own."""
    state = sqlstate_of(problem)
    if state is not None:
        for beginning, code, message, remedy in _MEANINGS:
            if state.startswith(beginning):
                log.warning("database error %s: %s", state, one_line(str(problem.orig), 500))
                return Unavailable(code, message, remedy)
        return None
    if type(problem.orig).__module__.partition(".")[0] == "sqlite3":
        if isinstance(problem, OperationalError):
            return Unavailable(
                "database-unavailable", f"expected the database to answer, found: {one_line(str(problem.orig), 200)}", LATER
            )
        return None
    if problem.connection_invalidated or isinstance(problem, OperationalError | InterfaceError):
        log.warning("database error: %s", one_line(str(problem.orig), 500))
        return Unavailable("database-unavailable", "expected the database to answer, found no connection to it", LATER)
    return None

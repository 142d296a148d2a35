"""Whether a database can be used as it is."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

from pairmark.adapters.sql.engine import engine_of
from pairmark.adapters.sql.migrate import current, head
from pairmark.app.errors import Unavailable
from pairmark.domain.errors import one_line


def require_head(url: str) -> None:
    """See to it that the database is at the revision of this version of Pairmark.

    Raises:
        Malformed: not the URL of a database.
        Unavailable: it cannot be reached, or is not migrated.
    """
    engine = engine_of(url)
    try:
        revision = current(engine)
    except DBAPIError as problem:
        raise Unavailable(
            "database-unavailable", f"expected the database to answer, found: {one_line(str(problem.orig), 200)}", "check PAIRMARK_DATABASE_URL"
        ) from problem
    finally:
        engine.dispose()
    if revision != head():
        raise Unavailable(
            "not-migrated", f"expected the database at revision {head()}, found {revision or 'none'}", "run `pairmark db upgrade`"
        )

"""Migrations: upgrade, downgrade, and whether the database and the models say the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, make_url
from sqlalchemy.exc import DBAPIError

from pairmark.adapters.sql import people_models, webhook_models
from pairmark.adapters.sql.by_code_point import columns_in_another_order, compare_by_code_point
from pairmark.adapters.sql.engine import engine_of
from pairmark.adapters.sql.log_models import LogEntryRow
from pairmark.adapters.sql.migrating import Waiting, alone
from pairmark.app.errors import Unavailable
from pairmark.domain.errors import Malformed, one_line
from pairmark.resources import data_folder

WAIT_SECONDS = 60
"""How long to wait for others, unless told otherwise."""

ALL_MODELS = (LogEntryRow, people_models, webhook_models)
"""Imported, so that what is compared is every table, whoever asks."""

OF_OTHERS = ("procrastinate_",)
"""How the names of tables begin that a library keeps in this database, by its own migrations."""


def upgrade(
    url: str, revision: str = "head", *, seconds: int = WAIT_SECONDS, waiting: Waiting | None = None
) -> tuple[str | None, str | None]:
    """Bring the database at `url` up to `revision`, all or nothing; makes a SQLite file's folder. Revisions before and after.

    Args:
        url: of the database.
        revision: where to.
        seconds: how long to wait for another one who migrates, and for each table that somebody uses (PostgreSQL).
        waiting: told who is waited for, if anybody is.

    Raises:
        Malformed: a bad URL, or a database that a newer Pairmark has migrated.
        Unavailable: the database cannot be reached or written, or somebody holds it for too long.
    """
    return _move(url, lambda config: command.upgrade(config, revision), seconds, waiting)


def downgrade(url: str, revision: str) -> tuple[str | None, str | None]:
    """Take the database at `url` back to `revision` (`base`: empty). Rows of tables that go are lost."""
    return _move(url, lambda config: command.downgrade(config, revision), WAIT_SECONDS, None)


def _move(url: str, step: Callable[[Config], None], seconds: int, waiting: Waiting | None) -> tuple[str | None, str | None]:
    engine = engine_of(url)
    make_folder(url)
    try:
        with alone(engine, seconds, waiting) as connection:
            before = MigrationContext.configure(connection).get_current_revision()
            if before is not None and before not in known_revisions():
                raise Malformed(
                    "unknown-revision", f"expected a database of this version of Pairmark, found revision {before}",
                    remedy="run the version of Pairmark that migrated it",
                )
            config = _config()
            config.attributes["connection"] = connection
            step(config)
            if connection.dialect.name == "postgresql":
                compare_by_code_point(connection, sorted(LogEntryRow.metadata.tables))
            after = MigrationContext.configure(connection).get_current_revision()
        return before, after
    except DBAPIError as problem:
        raise Unavailable(
            "database-unavailable", f"expected to migrate the database, found: {one_line(str(problem.orig), 200)}",
            "check that it is there and may be changed; nothing was changed",
        ) from problem
    finally:
        engine.dispose()


def make_folder(url: str) -> None:
    """Make the folder of a SQLite file."""
    from pathlib import Path

    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite" and parsed.database is not None:
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)


@cache
def head() -> str | None:
    """The newest revision that this installation knows."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def known_revisions() -> set[str]:
    """All revisions that this installation knows."""
    return {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}


def current(engine: Engine) -> str | None:
    """The revision of a database; None if it was never migrated."""
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def drift(url: str) -> list[str]:
    """What keeps the database at `url` from being what the models say, one line each; empty when it is.

    Raises:
        Unavailable: the database cannot be read.
    """
    engine = engine_of(url)
    try:
        with engine.connect() as connection:
            return _drift(connection)
    except DBAPIError as problem:
        raise Unavailable("database-unavailable", f"expected to read the database, found: {one_line(str(problem.orig), 200)}", "check its path") from problem
    finally:
        engine.dispose()


def _drift(connection: Connection) -> list[str]:
    context = MigrationContext.configure(connection, opts={"compare_type": True, "include_name": _is_ours})
    found, newest = context.get_current_revision(), head()
    if found != newest:
        return [f"expected revision {newest}, found {found or 'an empty database'}; run `pairmark db upgrade`"]
    metadata = LogEntryRow.metadata
    wrong = [f"the models and the migrated database differ: {one_line(repr(change), 300)}" for change in compare_metadata(context, metadata)]
    if connection.dialect.name == "postgresql":
        wrong += [
            f"expected the text of {column} compared by code point (COLLATE \"C\"), found another order; run `pairmark db upgrade`"
            for column in columns_in_another_order(connection, sorted(metadata.tables))
        ]
    return wrong


def _is_ours(name: str | None, kind: str, _parents: Any) -> bool:
    """Whether the models have a say in it: the queue's own tables are its own."""
    return not (kind == "table" and name is not None and name.startswith(OF_OTHERS))


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(data_folder("migrations")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config

"""Both kinds of database for the tests: `using(kind)` decides which one `url_of(folder)` gives a service in a folder."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.pool import Pool

from tests.postgres import server

KINDS = ("sqlite", "postgresql")

_kinds = ["sqlite"]
"""The last is the one in use."""

_only_sqlite = [False]
"""Whether the test that runs asked for no kind: then services are on SQLite, whatever kind an earlier test left in use."""

_made: dict[Path, str] = {}
_open: set[psycopg.Connection[Any]] = set()


@event.listens_for(Pool, "connect")
def _note(connection: object, _record: object) -> None:
    """Keep what is open: many tests leave an application to itself, and with it a pool."""
    if isinstance(connection, psycopg.Connection):
        _open.add(connection)


def let_go(name: str) -> None:
    """Close what this process has open of a database."""
    for connection in [each for each in _open if each.closed or each.info.dbname == name]:
        connection.close()
        _open.discard(connection)


def drop(name: str) -> None:
    """Remove a database, after closing what this process has open of it."""
    let_go(name)
    server().drop(name)


@contextlib.contextmanager
def using(kind: str) -> Iterator[str]:
    """Until the end of this context, services get databases of this kind; those made here are dropped then."""
    there = set(_made)
    _kinds.append(kind)
    try:
        yield kind
    finally:
        _kinds.pop()
        for folder in set(_made) - there:
            drop(_made.pop(folder))


def forget(folder: Path) -> None:
    """Drop the databases of services in this folder and below."""
    for each in [path for path in _made if path.is_relative_to(folder.absolute())]:
        drop(_made.pop(each))


@contextlib.contextmanager
def only_sqlite(wanted: bool) -> Iterator[None]:
    """While a test that asks for no kind runs, its own fixtures included."""
    _only_sqlite[0] = wanted
    try:
        yield
    finally:
        _only_sqlite[0] = False


def kind_in_use() -> str:
    """The kind of database that a service gets now."""
    return "sqlite" if _only_sqlite[0] else _kinds[-1]


def url_of(folder: Path) -> str:
    """The database of a service in `folder`, empty or migrated: always the same one."""
    if kind_in_use() == "sqlite":
        folder.mkdir(parents=True, exist_ok=True)
        return f"sqlite:///{(folder / 'pairmark.db').absolute()}"
    place = folder.absolute()
    if place not in _made:
        _made[place] = server().migrated()
    return server().url(_made[place])


def copy_of(folder: Path, target: Path) -> str:
    """A whole copy of the database of a service in `folder`, as it is now; its name."""
    if kind_in_use() == "sqlite":
        source, copy = sqlite3.connect(folder / "pairmark.db"), sqlite3.connect(target)
        source.backup(copy)
        source.close()
        copy.close()
        return str(target)
    url_of(target)
    name, copied = _made[folder.absolute()], _made[target.absolute()]
    let_go(name)
    server().replace(copied, name)
    return str(target)


def restore(folder: Path, copy: str) -> None:
    """Put a copy in the place of the database of a service in `folder`."""
    if kind_in_use() == "sqlite":
        for name in ("pairmark.db", "pairmark.db-wal", "pairmark.db-shm"):
            (folder / name).unlink(missing_ok=True)
        shutil.copyfile(copy, folder / "pairmark.db")
        return
    name = _made[folder.absolute()]
    let_go(name)
    server().replace(name, _made[Path(copy).absolute()])


def settings_of(folder: Path) -> dict[str, Any]:
    """What tells a service in `folder` of its database; nothing for its own file."""
    return {} if kind_in_use() == "sqlite" else {"database_url": url_of(folder), "requests_per_minute": 1_000_000}


def rows_of(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """Rows of a service's database, read beside it."""
    from pairmark.adapters.sql.engine import engine_of

    engine = engine_of(url_of(folder))
    try:
        with engine.connect() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(query)]
    finally:
        engine.dispose()


@pytest.fixture
def empty_url(kind: str, tmp_path: Path) -> Iterator[str]:
    """URL of a database of this test's own that was never migrated."""
    if kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'deep' / 'er' / 'pairmark.db'}"
        return
    name = server().empty()
    yield server().url(name)
    drop(name)


@pytest.fixture
def migrated_url(kind: str, tmp_path: Path) -> Iterator[str]:
    """URL of a migrated database of this test's own."""
    if kind == "sqlite":
        from pairmark.adapters.sql.migrate import upgrade

        url = f"sqlite:///{tmp_path / 'pairmark.db'}"
        upgrade(url)
        yield url
        return
    name = server().migrated()
    yield server().url(name)
    drop(name)


SQLITE_ONLY = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
"""For tests that have nothing to do with the kind of database."""

POSTGRESQL_SLOW = pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
"""For tests that take long and ask little of the database."""


@pytest.fixture(scope="session", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each kind of database in turn."""
    with using(request.param):
        yield request.param

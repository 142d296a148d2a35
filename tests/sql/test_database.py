"""Transactions on real databases of both kinds: whole or nothing, one winner, nothing lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from pairmark.adapters.sql.database import SqlDatabase
from pairmark.app.errors import Unavailable
from pairmark.app.ports import HistoryEntry, HistoryQuery, SuiteLabel, Tables
from pairmark.domain.canonical import digest_of_bytes


@pytest.fixture
def database(migrated_url: str) -> Iterator[SqlDatabase]:
    made = SqlDatabase.at(migrated_url)
    yield made
    made.close()


def put(tables: Tables, content: bytes) -> str:
    digest = digest_of_bytes(content)
    tables.documents.put(digest, content)
    return digest


def test_what_raises_leaves_nothing(database: SqlDatabase) -> None:
    def work(tables: Tables) -> None:
        put(tables, b"kept?")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        database.write(work)
    with database.reading() as tables:
        assert tables.documents.get(digest_of_bytes(b"kept?")) is None


def test_reading_writes_nothing(database: SqlDatabase) -> None:
    with suppress(Unavailable), database.reading() as tables:  # PostgreSQL refuses, SQLite forgets
        put(tables, b"kept?")
    with database.reading() as tables:
        assert tables.documents.get(digest_of_bytes(b"kept?")) is None


def test_a_view_does_not_change_while_it_is_read(database: SqlDatabase) -> None:
    with database.reading() as tables:
        assert tables.documents.get(digest_of_bytes(b"new")) is None
        database.write(lambda writing: put(writing, b"new"))
        assert tables.documents.get(digest_of_bytes(b"new")) is None
    with database.reading() as tables:
        assert tables.documents.get(digest_of_bytes(b"new")) == b"new"


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_settings_that_keep_data_safe_are_on(database: SqlDatabase) -> None:
    with database.engine.connect() as connection:
        pragmas = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000}


def test_a_reference_to_nothing_is_refused(database: SqlDatabase) -> None:
    label = SuiteLabel("s", "1", digest_of_bytes(b"content"), digest_of_bytes(b"nowhere"), "2026")
    with pytest.raises(IntegrityError):
        database.write(lambda tables: tables.suites.add(label))


def test_many_writers_lose_nothing(database: SqlDatabase) -> None:
    contents = [b"%d" % number for number in range(60)]

    def write(mine: list[bytes]) -> None:
        for content in mine:
            database.write(partial(put, content=content))

    threads = [threading.Thread(target=write, args=(contents[start::4],)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with database.reading() as tables:
        assert all(tables.documents.get(digest_of_bytes(content)) == content for content in contents)


def test_work_runs_again_when_another_writer_came_first(database: SqlDatabase) -> None:
    tries: list[int] = []

    def work(tables: Tables) -> str:
        tries.append(1)
        if len(tries) == 1:  # as on a database where two writers may be inside at once
            raise IntegrityError("INSERT", {}, Exception("UNIQUE"))
        return "seen"

    assert database.write(work) == "seen"
    assert len(tries) == 2


def test_a_missing_folder_is_unavailable_not_a_crash(tmp_path: Path) -> None:
    database = SqlDatabase.at(f"sqlite:///{tmp_path / 'gone' / 'x.db'}")
    with pytest.raises(Unavailable), database.reading() as tables:
        tables.documents.get("x")
    with pytest.raises(Unavailable):
        database.write(lambda tables: tables.documents.get("x"))


SUITE = digest_of_bytes(b"a suite")


def fill_history(database: SqlDatabase, drops: list[str | None]) -> list[str]:
    """Certificates with these drops, one a second; their ids."""
    ids = [f"certificate-{number:03}" for number in range(len(drops))]

    def add(tables: Tables) -> None:
        for number, (identifier, drop) in enumerate(zip(ids, drops, strict=True)):
            rates: dict[str, str | None] = {
                "benign_utility": "1/1", "utility_under_attack": "1/2", "utility_drop": drop, "attack_success_rate": None
            }
            tables.history.add(
                HistoryEntry(
                    identifier, SUITE, "task", "d", f"2026-01-01T00:00:{number:02}.000000+00:00", rates,
                    {"model": ["m", f"m{number % 2}"], "defense": ["none" if number % 3 else "filter"], "attack": ["x" * 300]}, b"{}",
                )
            )

    database.write(add)
    database.close()
    return ids


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("order", ["date", "drop", "utility"])
def test_pages_of_history_hold_every_certificate_once_in_order(database: SqlDatabase, order: str, descending: bool) -> None:
    drops: list[str | None] = ["1/3", "0/1", "-1/7", "1/3", None, "2/3", "1/3", "0/1"]
    ids = fill_history(loose(database), drops)
    query = HistoryQuery(SUITE, "task", "d", order=order, descending=descending)  # type: ignore[arg-type]
    found: list[tuple[str | float, str]] = []
    after = None
    with database.reading() as tables:
        while True:
            page = tables.history.page(query, after, 3)
            found.extend((line.order, line.certificate) for line in page)
            if len(page) < 3:
                break
            after = found[-1]
    assert found == sorted(found, reverse=descending)
    expected = {one for one, drop in zip(ids, drops, strict=True) if order != "drop" or drop is not None}
    assert len(found) == len(expected)
    assert {identifier for _, identifier in found} == expected


def test_filters_hold_together(database: SqlDatabase) -> None:
    ids = fill_history(loose(database), ["0/1", "1/3", "1/2", "2/3", "1/1", "1/3"])

    def found(**filters: object) -> list[str]:
        with database.reading() as tables:
            page = tables.history.page(HistoryQuery(SUITE, "task", "d", descending=False, **filters), None, 100)  # type: ignore[arg-type]
        return [line.certificate for line in page]

    assert found() == ids
    assert found(names=(("model", "m1"),)) == ids[1::2]
    assert found(names=(("model", "m1"), ("defense", "filter"))) == [ids[3]]
    assert found(names=(("attack", "x" * 300),)) == ids
    assert found(names=(("attack", "x" * 299),)) == []
    assert found(bounds=(("utility_drop", "max", 0.0),)) == [ids[0]]
    assert found(bounds=(("utility_drop", "min", 1 / 3), ("utility_drop", "max", 0.5))) == [ids[1], ids[2], ids[5]]
    assert found(bounds=(("attack_success_rate", "min", 0.0),)) == []
    assert found(since="2026-01-01T00:00:04.000000+00:00") == ids[4:]
    assert found(until="2026-01-01T00:00:00.000000+00:00") == ids[:1]


def loose(database: SqlDatabase) -> SqlDatabase:
    """The same database without foreign keys: history alone, without the certificates it is about."""
    from sqlalchemy import event

    def off(connection: Any, _record: object) -> None:
        if database.engine.dialect.name == "sqlite":
            connection.execute("PRAGMA foreign_keys = OFF")
        else:
            connection.execute("SET session_replication_role = replica")
            connection.commit()

    other = SqlDatabase.at(database.engine.url.render_as_string(hide_password=False))
    event.listen(other.engine, "connect", off)
    return other

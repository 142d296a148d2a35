"""What only PostgreSQL has: one who migrates at a time, text by code point, a server whose settings keep what it acknowledges."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from pairmark.adapters.sql.database import SqlDatabase
from pairmark.adapters.sql.engine import engine_of
from pairmark.adapters.sql.migrate import drift, head, upgrade
from pairmark.adapters.sql.migrating import LOCK
from pairmark.adapters.sql.server_settings import unsafe
from pairmark.app.errors import Unavailable
from pairmark.app.ports import SuiteLabel
from pairmark.domain.canonical import digest_of_bytes
from tests.postgres import Server, server

pytestmark = pytest.mark.parametrize("kind", ["postgresql"], indirect=True)


def test_whoever_migrates_too_is_named_while_one_waits_and_when_it_takes_too_long(empty_url: str) -> None:
    engine = engine_of(empty_url)
    told: list[str] = []
    with engine.begin() as other:
        other.exec_driver_sql("SET LOCAL application_name = 'somebody else'")
        other.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
        with pytest.raises(Unavailable, match=r"expected to migrate alone within 1 seconds, found at it process \d+ \(somebody else, ") as refused:
            upgrade(empty_url, seconds=1, waiting=told.append)
    assert refused.value.code == "database-in-use"
    assert len(told) == 1
    assert "somebody else" in told[0]
    assert upgrade(empty_url, seconds=1, waiting=told.append) == (None, head())
    assert len(told) == 1
    engine.dispose()


def test_whoever_uses_a_table_that_has_to_change_is_named(migrated_url: str) -> None:
    from pairmark.adapters.sql.migrate import downgrade

    downgrade(migrated_url, "0003")
    engine = engine_of(migrated_url)
    with engine.begin() as other:
        other.exec_driver_sql("SET LOCAL application_name = 'a long report'")
        other.exec_driver_sql("ALTER TABLE history_entries ALTER COLUMN suite TYPE varchar(71)")
        with pytest.raises(Unavailable, match=r"expected to change tables within 1 seconds, found them in use by .*a long report"):
            upgrade(migrated_url, seconds=1)
        other.rollback()
    assert upgrade(migrated_url) == ("0003", head())
    engine.dispose()


def test_text_is_compared_by_code_point_whatever_the_database_does(empty_url: str) -> None:
    upgrade(empty_url)
    database = SqlDatabase.at(empty_url)
    names = ["Z", "a", "ä", "B", "_", "z", "é", "漢", "-", "A b", "Ab"]

    def add(tables: object) -> None:
        digest = digest_of_bytes(b"m")
        tables.documents.put(digest, b"m")  # type: ignore[attr-defined]
        for name in names:
            tables.suites.add(SuiteLabel(name, "1", digest, digest, "2026"))  # type: ignore[attr-defined]

    database.write(add)
    with database.reading() as tables:
        assert [label.name for label in tables.suites.page(None, None, 100)] == sorted(names)
    database.close()


def test_text_in_another_order_is_drift_and_an_upgrade_puts_it_right(empty_url: str) -> None:
    upgrade(empty_url)
    engine = engine_of(empty_url)
    with engine.begin() as connection:
        connection.exec_driver_sql('ALTER TABLE suites ALTER COLUMN name TYPE varchar(256) COLLATE "und-x-icu"')
    assert [line for line in drift(empty_url) if "suites.name" in line and "code point" in line] == drift(empty_url)
    upgrade(empty_url)
    assert drift(empty_url) == []
    engine.dispose()


def test_tables_that_the_queue_keeps_are_not_drift(empty_url: str) -> None:
    upgrade(empty_url)
    engine = engine_of(empty_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE procrastinate_anything (id INT)")
    assert drift(empty_url) == []
    engine.dispose()


@pytest.fixture(scope="module")
def careful(kind: str) -> Iterator[Server]:
    made = Server(settings={})
    yield made
    made.end()


def test_a_server_that_may_lose_commits_is_said_to_be_unfit(careful: Server) -> None:
    assert unsafe(careful.url("postgres")) == []
    found = unsafe(server().url("postgres"))  # the tests' own quick server
    assert [line.split(",")[0] for line in found] == ["expected the server setting fsync on", "expected the server setting full_page_writes on"]


def test_the_commands_upgrade_and_check_and_never_show_a_password(careful: Server, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    from tests.cli.running import Here

    here, url = Here(capfdbinary), careful.url(careful.empty()).replace("pairmark@", "pairmark:not-to-be-seen@")
    unready = here("db", "check", "--database", url)
    assert (unready.code, "run `pairmark db upgrade`" in unready.err) == (1, True)
    done = here("db", "upgrade", "--database", url, "--wait", "5")
    assert (done.code, done.err) == (0, "")
    assert f"upgraded from nothing to revision {head()}" in done.out
    checked = here("db", "check", "--database", url)
    assert (checked.code, checked.err) == (0, "")
    assert "is what this version of Pairmark expects" in checked.out
    assert all("not-to-be-seen" not in each.out + each.err for each in (unready, done, checked))
    gone = here("db", "check", "--database", url.replace("/test_", "/not_there_"))
    assert gone.code == 69
    assert gone.err.count("\n") == 1


def test_a_database_in_another_encoding_is_said_to_be_unfit(careful: Server) -> None:
    careful.run("CREATE DATABASE narrow TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
    assert any("expected a database in UTF8, found SQL_ASCII" in line for line in unsafe(careful.url("narrow")))


def test_a_service_with_rights_on_rows_only_can_do_everything_but_migrate(migrated_url: str) -> None:
    """The grants of docs/database.md."""
    from sqlalchemy import make_url

    engine = engine_of(migrated_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP ROLE IF EXISTS pairmark_service")
        connection.exec_driver_sql("CREATE ROLE pairmark_service LOGIN")
        connection.exec_driver_sql("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO pairmark_service")
    modest = make_url(migrated_url).set(username="pairmark_service").render_as_string(hide_password=False)
    database = SqlDatabase.at(modest)
    database.write(lambda tables: tables.documents.put(digest_of_bytes(b"x"), b"x"))
    with database.reading() as tables:
        assert tables.documents.get(digest_of_bytes(b"x")) == b"x"
    assert drift(modest) == []
    database.close()
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM alembic_version")
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES ('0003')")
    with pytest.raises(Unavailable, match=r"permission denied|must be owner"):
        upgrade(modest)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP OWNED BY pairmark_service")
    engine.dispose()


def test_two_writers_see_each_other_and_never_half(migrated_url: str) -> None:
    """Read, add one, write: what a lost update would show."""
    one, other = SqlDatabase.at(migrated_url), SqlDatabase.at(migrated_url)
    digest = digest_of_bytes(b"m")
    one.write(lambda tables: tables.documents.put(digest, b"m"))

    def add_next(tables: object) -> None:
        there = len(tables.suites.of_name("s"))  # type: ignore[attr-defined]
        tables.suites.add(SuiteLabel("s", f"{there:04}", digest, digest, "2026"))  # type: ignore[attr-defined]

    def work(database: SqlDatabase) -> None:
        for _ in range(25):
            database.write(add_next)

    threads = [threading.Thread(target=work, args=(database,)) for database in (one, other, one, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    with one.reading() as tables:
        assert [label.version for label in tables.suites.of_name("s")] == [f"{number:04}" for number in range(100)]
    one.close()
    other.close()

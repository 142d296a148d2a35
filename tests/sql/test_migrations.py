"""The migrations and the models say the same, in both directions."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from pairmark.adapters.sql.engine import engine_of
from pairmark.adapters.sql.migrate import current, downgrade, drift, head, make_folder, upgrade
from pairmark.adapters.sql.models import METADATA
from pairmark.app.errors import Unavailable
from pairmark.domain.errors import Malformed


@pytest.fixture
def url(empty_url: str) -> str:
    return empty_url


def tables(url: str) -> set[str]:
    engine = engine_of(url)
    try:
        return set(inspect(engine).get_table_names()) - {"alembic_version"}
    finally:
        engine.dispose()


def test_upgrading_makes_what_the_models_say(url: str) -> None:
    assert upgrade(url) == (None, head())
    assert {name for name in tables(url) if not name.startswith("procrastinate_")} == set(METADATA.tables)
    assert drift(url) == []


def test_upgrading_twice_changes_nothing(url: str) -> None:
    upgrade(url)
    assert upgrade(url) == (head(), head())


def test_down_and_up_again(url: str) -> None:
    upgrade(url)
    assert downgrade(url, "base") == (head(), None)
    assert tables(url) == set()
    assert upgrade(url) == (None, head())
    assert drift(url) == []


def test_every_single_step_can_be_taken_back(url: str) -> None:
    upgrade(url)
    while downgrade(url, "-1")[1] is not None:
        upgrade(url, "+1")
        downgrade(url, "-1")
    assert tables(url) == set()


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE suites ADD COLUMN extra TEXT",
        "DROP INDEX ix_suites_digest",
        "DROP TABLE history_entry_names",
        "CREATE TABLE stray (id INTEGER)",
    ],
)
def test_drift_is_seen(url: str, change: str) -> None:
    upgrade(url)
    engine = engine_of(url)
    with engine.begin() as connection:
        connection.execute(text(change))
    engine.dispose()
    assert drift(url)


def test_an_old_database_is_drift_that_names_the_remedy(url: str) -> None:
    upgrade(url)
    downgrade(url, "base")
    assert "pairmark db upgrade" in drift(url)[0]


def test_a_database_of_a_newer_pairmark_is_left_alone(url: str) -> None:
    upgrade(url)
    engine = engine_of(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'future'"))
    with pytest.raises(Malformed) as refused:
        upgrade(url)
    assert refused.value.code == "unknown-revision"
    assert current(engine) == "future"
    engine.dispose()


def test_a_failing_migration_leaves_the_database_as_it_was(url: str) -> None:
    make_folder(url)
    engine = engine_of(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE runs (id TEXT)"))
    engine.dispose()
    with pytest.raises(Unavailable):
        upgrade(url)
    assert tables(url) == {"runs"}


@pytest.mark.parametrize("url", ["", "nonsense", "sqlite://", "sqlite:///:memory:", "mysql://host/name", "sqlite+nonsense:///x", "postgresql://host", "postgresql+psycopg2://host/name"])
def test_a_url_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(Malformed) as refused:
        upgrade(url)
    assert refused.value.code == "bad-database-url"


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"not a database, but long enough to be looked at" * 50)
    with pytest.raises(Unavailable):
        upgrade(f"sqlite:///{tmp_path / 'x.db'}")


def test_many_who_start_at_once_migrate_once(url: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(6) as threads:
        results = list(threads.map(lambda _: upgrade(url), range(6)))
    assert sorted(before is None for before, _ in results) == [False] * 5 + [True]
    assert {after for _, after in results} == {head()}
    assert drift(url) == []

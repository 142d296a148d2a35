"""The queue library's own tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from procrastinate.schema import SchemaManager

from pairmark.adapters.jobs.schema import KNOWN, bring_up, installed
from pairmark.adapters.sql.engine import engine_of
from pairmark.adapters.sql.migrate import upgrade
from tests.postgres import server

pytestmark = pytest.mark.parametrize("kind", ["postgresql"], indirect=True)

OLDER = "03.02.00_50_post_batch_defer_jobs.sql"
"""A migration that a library before had ended with."""

EVERYTHING = (
    "SELECT 'column', table_name || '.' || column_name, data_type FROM information_schema.columns WHERE table_name LIKE 'procrastinate%'"
    " UNION ALL SELECT 'function', oid::regprocedure::text, md5(prosrc) FROM pg_proc WHERE proname LIKE 'procrastinate%'"
    " UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE tablename LIKE 'procrastinate%'"
    " UNION ALL SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname LIKE 'procrastinate%' ORDER BY 1, 2"
)


def test_the_library_brings_no_migration_that_databases_have_not_had() -> None:
    assert installed()[-1] == KNOWN, (
        "the queue library has newer migrations: add a migration that calls pairmark.adapters.jobs.schema.bring_up, and set KNOWN"
    )


def test_bringing_up_twice_changes_nothing(migrated_url: str) -> None:
    name = migrated_url.partition("@/")[2].partition("?")[0]
    before = server().run(EVERYTHING, name)
    engine = engine_of(migrated_url)
    with engine.begin() as connection:
        bring_up(connection)
    engine.dispose()
    assert server().run(EVERYTHING, name) == before
    assert server().run("SELECT obj_description('procrastinate_jobs'::regclass)", name) == [(KNOWN,)]


def test_an_older_librarys_tables_are_brought_up(empty_url: str, migrated_url: str) -> None:
    upgrade(empty_url, "0007")
    name, fresh = (url.partition("@/")[2].partition("?")[0] for url in (empty_url, migrated_url))
    for migration in installed():
        if migration <= OLDER:
            server().run((Path(SchemaManager.get_migrations_path()) / migration).read_text(encoding="utf-8"), name)
    server().run(f"COMMENT ON TABLE procrastinate_jobs IS '{OLDER}'", name)
    upgrade(empty_url)
    functions = [row for row in server().run(EVERYTHING, name) if row[0] != "column"]
    missing = [row[:2] for row in server().run(EVERYTHING, fresh) if row[0] == "function" and row[1] not in {found[1] for found in functions}]
    assert missing == []
    assert server().run("SELECT obj_description('procrastinate_jobs'::regclass)", name) == [(KNOWN,)]

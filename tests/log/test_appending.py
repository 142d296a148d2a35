"""The stored log: gapless, in step with its tree, only ever added to."""

from __future__ import annotations

import sqlite3

import pytest
from sqlalchemy.exc import DBAPIError

from pairmark.app.ports import Tables
from pairmark.app.stored import Damaged
from pairmark.provenance.frontier import Frontier, places
from pairmark.provenance.merkle import leaf_hash, reader_of, root
from tests.log.filling import LoggingService, appended


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 100])
def test_a_frontier_has_the_root_of_the_whole_tree(size: int) -> None:
    leaves = [leaf_hash(b"%d" % number) for number in range(size)]
    edge = Frontier()
    made = [node for leaf in leaves for node in edge.append(leaf)]
    read = reader_of(leaves)
    assert (edge.size, edge.root()) == (size, root(read, size))
    assert edge.peaks == [read(level, index) for level, index in places(size)]
    assert all(read(level, index) == value for level, index, value in made)
    assert len({(level, index) for level, index, _ in made}) == len(made)


def test_a_frontier_needs_its_peaks() -> None:
    with pytest.raises(ValueError, match="expected 2 hashes for 3 leaves, found 1"):
        Frontier.of(3, [b"x" * 32])


def test_what_is_rolled_back_leaves_no_gap(log: LoggingService) -> None:
    first = log.size()

    def fails(tables: Tables) -> None:
        assert appended(tables, 1) == first
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        log.database.write(fails)
    assert log.size() == first
    assert log.database.write(lambda tables: appended(tables, 2)) == first
    assert log.faults() == []


def test_several_entries_in_one_transaction_are_all_there(log: LoggingService) -> None:
    first = log.size()
    indices = log.database.write(lambda tables: [appended(tables, number) for number in range(20)])
    assert indices == list(range(first, first + 20))
    assert log.faults() == []
    assert log.checkpoints()[-1].size == first + 20


SAME = [
    "UPDATE log_entries SET entry = {zero}",
    "DELETE FROM log_entries",
    "UPDATE log_nodes SET hash = {zero}",
    "DELETE FROM log_nodes",
    "UPDATE log_subjects SET subject = 'x'",
    "DELETE FROM log_subjects",
    "UPDATE log_checkpoints SET note = {zero}",
    "DELETE FROM log_checkpoints",
    "DELETE FROM log_head",
    "UPDATE log_head SET size = size - 1",
    "UPDATE log_head SET root = {zero}",
    "UPDATE log_head SET id = 2, size = size + 1",
    "INSERT INTO log_entries (\"index\", entry) VALUES (1000, {zero})",
]
REPLACING = [
    "INSERT OR REPLACE INTO log_entries (\"index\", entry) VALUES (0, x'00')",
    "INSERT OR REPLACE INTO log_nodes (level, \"index\", hash) VALUES (0, 0, x'00')",
    "INSERT OR REPLACE INTO log_subjects (subject, \"index\") SELECT subject, \"index\" FROM log_subjects LIMIT 1",
    "INSERT OR REPLACE INTO log_checkpoints (size, note) SELECT size, x'00' FROM log_checkpoints LIMIT 1",
    "INSERT OR REPLACE INTO log_head (id, size, root) VALUES (1, 0, x'00')",
]
EMPTYING = [
    *(f"TRUNCATE {table} CASCADE" for table in ("log_entries", "log_nodes", "log_subjects", "log_checkpoints", "log_head", "certificate_releases")),
    "INSERT INTO log_checkpoints (size, note) SELECT size, note FROM log_checkpoints LIMIT 1 ON CONFLICT (size) DO UPDATE SET note = '\\x00'",
    "INSERT INTO log_nodes (level, \"index\", hash) VALUES (0, 0, '\\x00') ON CONFLICT (level, \"index\") DO UPDATE SET hash = '\\x00'",
    "INSERT INTO log_head (id, size, root) VALUES (1, 0, '\\x00') ON CONFLICT (id) DO UPDATE SET size = 0",
    "MERGE INTO log_entries e USING log_head h ON h.id = 1 WHEN MATCHED THEN DELETE",
]
ZERO = {"sqlite": "x'00'", "postgresql": "'\\x00'::bytea"}


def run(log: LoggingService, statement: str) -> None:
    """What somebody with the database may try."""
    with log.database.engine.begin() as connection:
        connection.exec_driver_sql(statement.replace("{zero}", ZERO[connection.dialect.name]))


def refused(log: LoggingService, statement: str) -> None:
    with pytest.raises(DBAPIError, match="append-only"):
        run(log, statement)


@pytest.mark.parametrize("statement", SAME)
def test_triggers_refuse_to_change_what_was_logged(log: LoggingService, statement: str) -> None:
    log.announce()
    refused(log, statement)
    assert log.faults() == []


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
def test_triggers_refuse_to_replace_what_was_logged(log: LoggingService) -> None:
    log.announce()
    for statement in REPLACING:
        refused(log, statement)
    assert log.faults() == []


@pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
def test_triggers_refuse_to_empty_what_was_logged(log: LoggingService) -> None:
    log.announce()
    for statement in EMPTYING:
        refused(log, statement)
    assert log.faults() == []


def test_a_certificate_release_row_is_kept_too(log: LoggingService) -> None:
    zero = ZERO[log.database.engine.dialect.name]
    with log.database.engine.connect() as connection:  # a row for a certificate that is not there
        off = "PRAGMA foreign_keys = OFF" if connection.dialect.name == "sqlite" else "ALTER TABLE certificate_releases DISABLE TRIGGER ALL"
        on = "" if connection.dialect.name == "sqlite" else "ALTER TABLE certificate_releases ENABLE TRIGGER ALL"
        raw = connection.connection.dbapi_connection
        assert raw is not None
        cursor = raw.cursor()
        for statement in (off, f"INSERT INTO certificate_releases (certificate, \"index\", svr) VALUES ('c', 0, {zero})", on):
            cursor.execute(statement)
        raw.commit()
    refused(log, "UPDATE certificate_releases SET svr = {zero}")
    refused(log, "DELETE FROM certificate_releases")
    if zero.startswith("x"):
        refused(log, "INSERT OR REPLACE INTO certificate_releases (certificate, \"index\", svr) VALUES ('c', 0, {zero})")


def test_a_tree_that_was_tampered_with_takes_no_entry(log: LoggingService) -> None:
    log.announce()
    unguarded(log, "log_nodes", "UPDATE log_nodes SET hash = {zeros} WHERE level = 1")
    before = log.size()
    with pytest.raises(Damaged, match="stored root"):
        log.announce()
    assert log.size() == before
    assert any("node 0 of level 1" in fault for fault in log.faults())


@pytest.mark.parametrize(
    ("table", "statement", "said"),
    [
        ("log_entries", "UPDATE log_entries SET entry = {braces} WHERE \"index\" = 1", "entry 1"),
        ("log_head", "UPDATE log_head SET root = {zeros}", "expected the head"),
        ("log_checkpoints", "UPDATE log_checkpoints SET note = {zero} WHERE size = 2", "checkpoint over 2 entries"),
        ("log_entries", "DELETE FROM log_entries WHERE \"index\" = 2", "head of 2 entries"),
    ],
)
def test_fsck_finds_what_somebody_with_the_database_changed(log: LoggingService, table: str, statement: str, said: str) -> None:
    log.announce()
    log.announce()
    assert log.faults() == []
    unguarded(log, table, statement)
    assert any(said in fault for fault in log.faults()), log.faults()


def unguarded(log: LoggingService, table: str, statement: str) -> None:
    """Run a statement after taking away what guards a table."""
    engine = log.database.engine
    if engine.dialect.name == "sqlite":
        connection = sqlite3.connect(log.folder / "pairmark.db")  # with foreign keys off
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?", (table,)).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(filled(statement, zero="x'00'", zeros="zeroblob(32)", braces="x'7b7d'"))
        connection.commit()
        connection.close()
        return
    with engine.begin() as owning:
        owning.exec_driver_sql("SET LOCAL session_replication_role = replica")
        owning.exec_driver_sql(filled(statement, zero="'\\x00'", zeros=f"decode('{'00' * 32}', 'hex')", braces="'\\x7b7d'"))


def filled(statement: str, **values: str) -> str:
    for name, value in values.items():
        statement = statement.replace("{" + name + "}", value)
    return statement

"""The stored log: gapless, in step with its tree, only ever added to."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text

from pairmark.app.ports import Tables
from pairmark.app.stored import Damaged
from pairmark.provenance.frontier import Frontier, places
from pairmark.provenance.merkle import leaf_hash, reader_of, root
from tests.log.filling import LoggingService, appended


@pytest.fixture
def log(tmp_path: Path) -> LoggingService:
    return LoggingService.at(tmp_path / "data")


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


STATEMENTS = [
    "UPDATE log_entries SET entry = x'00'",
    "DELETE FROM log_entries",
    "UPDATE log_nodes SET hash = x'00'",
    "DELETE FROM log_nodes",
    "UPDATE log_subjects SET subject = 'x'",
    "DELETE FROM log_subjects",
    "UPDATE log_checkpoints SET note = x'00'",
    "DELETE FROM log_checkpoints",
    "DELETE FROM log_head",
    "UPDATE log_head SET size = size - 1",
    "UPDATE log_head SET root = x'00'",
    "UPDATE log_head SET id = 2, size = size + 1",
    "INSERT OR REPLACE INTO log_entries (\"index\", entry) VALUES (0, x'00')",
    "INSERT OR REPLACE INTO log_nodes (level, \"index\", hash) VALUES (0, 0, x'00')",
    "INSERT OR REPLACE INTO log_subjects (subject, \"index\") SELECT subject, \"index\" FROM log_subjects LIMIT 1",
    "INSERT OR REPLACE INTO log_checkpoints (size, note) SELECT size, x'00' FROM log_checkpoints LIMIT 1",
    "INSERT OR REPLACE INTO log_head (id, size, root) VALUES (1, 0, x'00')",
    "INSERT INTO log_entries (\"index\", entry) VALUES (1000, x'00')",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_triggers_refuse_to_change_what_was_logged(log: LoggingService, statement: str) -> None:
    log.announce()
    connection = sqlite3.connect(log.folder / "pairmark.db")
    try:
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
        connection.rollback()
    finally:
        connection.close()
    assert log.faults() == []


def test_a_certificate_release_row_is_kept_too(log: LoggingService) -> None:
    connection = sqlite3.connect(log.folder / "pairmark.db")
    try:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("INSERT INTO certificate_releases (certificate, \"index\", svr) VALUES ('c', 0, x'00')")
        for statement in (
            "UPDATE certificate_releases SET svr = x'01'", "DELETE FROM certificate_releases",
            "INSERT OR REPLACE INTO certificate_releases (certificate, \"index\", svr) VALUES ('c', 0, x'01')",
        ):  # fmt: skip
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)
    finally:
        connection.close()


def test_a_tree_that_was_tampered_with_takes_no_entry(log: LoggingService) -> None:
    log.announce()
    with log.database.engine.begin() as connection:
        connection.execute(text("DROP TRIGGER log_nodes_no_update"))
        connection.execute(text("UPDATE log_nodes SET hash = zeroblob(32) WHERE level = 1"))
    before = log.size()
    with pytest.raises(Damaged, match="stored root"):
        log.announce()
    assert log.size() == before
    assert any("node 0 of level 1" in fault for fault in log.faults())


@pytest.mark.parametrize(
    ("trigger", "statement", "said"),
    [
        ("log_entries_no_update", "UPDATE log_entries SET entry = x'7b7d' WHERE \"index\" = 1", "entry 1"),
        ("log_head_only_grows", "UPDATE log_head SET root = zeroblob(32)", "expected the head"),
        ("log_checkpoints_no_update", "UPDATE log_checkpoints SET note = x'00' WHERE size = 2", "checkpoint over 2 entries"),
        ("log_entries_no_delete", "DELETE FROM log_entries WHERE \"index\" = 2", "head of 2 entries"),
    ],
)
def test_fsck_finds_what_somebody_with_the_database_changed(log: LoggingService, trigger: str, statement: str, said: str) -> None:
    log.announce()
    log.announce()
    assert log.faults() == []
    connection = sqlite3.connect(log.folder / "pairmark.db")
    connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute(statement)
    connection.commit()
    connection.close()
    assert any(said in fault for fault in log.faults()), log.faults()

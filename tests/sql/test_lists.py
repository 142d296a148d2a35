"""What reviewers ask again and again is found by an index, however many verdicts there are."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import event, insert

from pairmark.adapters.sql.database import SqlDatabase
from pairmark.adapters.sql.models import METADATA

VERDICTS = 3000
BY_VERDICT, BY_DISPROOF = "ix_certifications_verdict_created_at_id", "ix_certifications_disproves"


def verdict(number: int) -> dict[str, Any]:
    """One of 100 is held, and every second one of those was answered by the verdict that follows."""
    held, answers = number % 100 == 0, number % 200 == 1
    return {
        "id": f"certification-{number:05}", "subject": f"sha256:{number:064}", "benign": "run-a", "attacked": "run-b", "baseline": "run-c" if number % 1000 == 500 else None,
        "policy": "sha256:0", "manifest": "sha256:0", "disproof": None, "disproves": f"certification-{number - 1:05}" if answers else None,
        "report": "sha256:0", "verdict": "quarantined" if held else "certified", "created_at": f"2026-01-22T07:{number // 60:02}:{number % 60:02}.000000Z",
    }  # fmt: skip


@pytest.fixture
def database(kind: str, migrated_url: str) -> Iterator[SqlDatabase]:
    made = SqlDatabase.at(migrated_url)
    table = METADATA.tables["certifications"]
    if kind == "sqlite":  # beside the service's own connection, which would want the runs that the verdicts are of
        with sqlite3.connect(str(made.engine.url.database)) as beside:
            beside.executemany(str(insert(table).compile(made.engine)), [tuple(verdict(number).values()) for number in range(VERDICTS)])
        beside.close()
    else:
        with made.engine.begin() as connection:
            connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
            connection.execute(insert(table), [verdict(number) for number in range(VERDICTS)])
            connection.exec_driver_sql("ANALYZE certifications")
    yield made
    made.close()


def plans(database: SqlDatabase, kind: str, verdict: str | None, *, waiting: bool, run: str | None = None) -> tuple[list[str], list[str]]:
    """Ids on a page, and how the database finds what each statement that it takes wants."""
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        asked.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    with database.reading() as tables:
        found = [one.certification.id for one in tables.certifications.page(verdict, waiting=waiting, run=run, after=None, limit=10)]
    event.remove(database.engine, "before_cursor_execute", note)
    explain = "EXPLAIN QUERY PLAN" if kind == "sqlite" else "EXPLAIN"
    with database.engine.connect() as connection:
        return found, [
            "\n".join(str(row) for row in connection.exec_driver_sql(f"{explain} {statement}", parameters))
            for statement, parameters in asked
            if statement.lstrip().upper().startswith("SELECT") and "disproves" in statement
        ]


def test_held_verdicts_and_their_answers_are_found_by_an_index(database: SqlDatabase, kind: str) -> None:
    found, (held, answers) = plans(database, kind, "quarantined", waiting=False)
    assert found == [f"certification-{number:05}" for number in range(VERDICTS - 100, VERDICTS - 1100, -100)]
    assert BY_VERDICT in held
    assert "SORT" not in held.upper()
    assert "B-TREE" not in held
    assert BY_DISPROOF in answers


def test_verdicts_that_wait_for_a_reviewer_are_found_by_an_index(database: SqlDatabase, kind: str) -> None:
    found, (waiting, answers) = plans(database, kind, None, waiting=True)
    assert found == [f"certification-{number:05}" for number in range(VERDICTS - 100, VERDICTS - 2100, -200)]
    assert BY_VERDICT in waiting
    assert BY_DISPROOF in waiting
    assert BY_DISPROOF in answers


def test_what_rests_on_a_run_is_found_by_an_index_of_every_role(database: SqlDatabase, kind: str) -> None:
    found, (of_run, _) = plans(database, kind, None, waiting=False, run="run-c")
    assert found == ["certification-02500", "certification-01500", "certification-00500"]
    for role in ("benign", "attacked", "baseline"):
        assert f"ix_certifications_{role}" in of_run

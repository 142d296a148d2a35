"""The tallies behind `left_out` are the counts of the entries, whatever was added and marked, and survive migrations."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from pairmark.adapters.sql.database import SqlDatabase
from pairmark.adapters.sql.engine import engine_of
from pairmark.adapters.sql.migrate import downgrade, upgrade
from pairmark.app.ports import Tables
from pairmark.app.records import HistoryEntry, HistoryQuery, LeftOut, Status, why_left_out

STATUSES: tuple[Status, ...] = ("valid", "superseded", "revoked", "uncertifiable")
RATES = ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = f"sqlite:///{tmp_path_factory.mktemp('tallies') / 'pairmark.db'}"
    upgrade(made)
    return made


entries = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from("de"), st.sampled_from(STATUSES), st.booleans()), max_size=12
)
marks = st.lists(st.tuples(st.integers(0, 11), st.sampled_from(STATUSES)), max_size=12)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries, marks, st.sampled_from("xy"), st.sampled_from(("date", "drop")))
def test_left_out_is_counted_by_the_first_reason(
    url: str, added: list[tuple[str, str, str, Status, bool]], marked: list[tuple[int, Status]], mix: str, order: str
) -> None:
    database = SqlDatabase.at(url)
    with database.engine.begin() as connection:
        for table in ("history_entry_names", "history_entries", "history_tallies"):
            connection.execute(text(f"DELETE FROM {table}"))
    now = [status for *_, status, _ in added]

    def fill(tables: Tables) -> None:
        for number, (name, suite, definition, status, defined) in enumerate(added):
            rates = dict.fromkeys(RATES, "1/2" if defined else None)
            tables.history.add(HistoryEntry(f"c{number}", suite, "task", definition, "2026", rates, {}, b"{}", name, status))
        for number, status in marked:
            tables.history.mark(f"c{number}", status)
            if number < len(now):
                now[number] = status

    database.write(fill)
    query = HistoryQuery(mix, "task", "d", order=order, suite_names=("a",))  # type: ignore[arg-type]
    expected: dict[LeftOut, int] = {}
    for (name, suite, definition, _, defined), status in zip(added, now, strict=True):
        reason = why_left_out(status, suite, definition, query) if name == "a" else None
        if reason is None and order != "date" and not defined and (suite, definition, status) == (mix, "d", "valid"):
            reason = "undefined-rate"
        if reason is not None:
            expected[reason] = expected.get(reason, 0) + 1
    with database.reading() as tables:
        assert tables.history.left_out(query) == expected
    database.close()


def test_a_migration_counts_what_is_there(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'pairmark.db'}"
    upgrade(url)
    database = SqlDatabase.at(url)

    def fill(tables: Tables) -> None:
        for number in range(7):
            entry = HistoryEntry(
                f"c{number}", "xy"[number % 2], "task", "d", "2026", dict.fromkeys(RATES), {}, b"{}", "a", STATUSES[number % 3]
            )
            tables.history.add(entry)

    database.write(fill)
    query = HistoryQuery("x", "task", "d", suite_names=("a",))
    with database.reading() as tables:
        before = tables.history.left_out(query)
    database.close()
    assert sum(before.values()) == 5
    downgrade(url, "0003")
    upgrade(url)
    database = SqlDatabase.at(url)
    with database.reading() as tables:
        assert tables.history.left_out(query) == before
    database.close()
    engine = engine_of(url)
    with engine.begin() as connection:
        assert connection.execute(text("SELECT SUM(entries) FROM history_tallies")).scalar_one() == 7
    engine.dispose()

"""History: labels resolve to digests, cursors hold under writes, and answers come as tables a citation can rest on."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.adapters.tables.history import COLUMNS
from pairmark.adapters.tables.latex import escaped
from pairmark.domain.version_order import version_key
from pairmark.domain.world import World
from tests.service.serving import Service, problem_in

SUITE = "synthetic/office"


def world(number: int, version: str = "v1.9", epochs: int = 1) -> World:
    made = World().swap_model("all", f"model-{number:02}").set("benign", 1 + number, utility=False).edit_suite("/version", version)
    return made if epochs == 1 else made.edit_suite("/weighting", "cell")


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Service:
    service = Service.at(tmp_path_factory.mktemp("past"))
    for number in range(3):
        assert service.certify(service.submit(world(number))).json()["certificate"]
    assert service.certify(service.submit(world(0, "v1.10", epochs=2))).json()["certificate"]
    return service


def get(service: Service, **asked: Any) -> Any:
    answer = service.get("/v1/history", **asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_latest_is_the_highest_version_not_the_last_by_text(past: Service) -> None:
    assert get(past, suite=f"{SUITE}@latest")["suite"]["labels"][0]["version"] == "v1.10"
    problem = problem_in(past.get("/v1/history", suite=SUITE), 409, "several-suites")
    assert f"{SUITE}@v1.10" in problem.detail


def test_the_digest_in_the_answer_pins_the_question(past: Service) -> None:
    digest = get(past, suite=f"{SUITE}@v1.9")["suite"]["digest"]
    assert get(past, suite=f"{SUITE}@v1.9", digest=digest)["items"] == get(past, suite=digest)["items"]
    problem = problem_in(past.get("/v1/history", suite=f"{SUITE}@latest", digest=digest), 409, "label-moved")
    assert digest in problem.detail


def test_a_cursor_does_not_follow_a_label_that_moved(tmp_path: Path) -> None:
    service = Service.at(tmp_path)
    for number in range(2):
        service.certify(service.submit(world(number)))
    cursor = get(service, suite=f"{SUITE}@latest", limit=1)["next"]
    service.register(world(0, "v1.10", epochs=2))
    problem_in(service.get("/v1/history", suite=f"{SUITE}@latest", limit=1, cursor=cursor), 409, "label-moved")
    assert len(get(service, suite=f"{SUITE}@v1.9", limit=1)["items"]) == 1


@pytest.mark.parametrize("sort", ["date", "drop", "utility"])
def test_pages_neither_repeat_nor_skip_while_certificates_are_added(tmp_path: Path, sort: str) -> None:
    service = Service.at(tmp_path)
    for number in range(4):
        service.certify(service.submit(world(number)))
    before = [item["certificate"] for item in get(service, suite=SUITE, sort=sort)["items"]]
    seen: list[str] = []
    cursor, added = None, 4
    while True:
        page = get(service, suite=SUITE, sort=sort, limit=1, **({} if cursor is None else {"cursor": cursor}))
        seen.extend(item["certificate"] for item in page["items"])
        cursor = page["next"]
        if cursor is None:
            break
        if added < 6:
            service.certify(service.submit(world(added)))
            added += 1
    assert len(seen) == len(set(seen))
    assert [one for one in seen if one in before] == before


def test_other_versions_are_counted_as_another_mix(past: Service) -> None:
    assert get(past, suite=f"{SUITE}@v1.9")["left_out"] == {"other-mix": 1}
    assert get(past, suite=f"{SUITE}@v1.10")["left_out"] == {"other-mix": 3}


# tables


def test_csv_and_parquet_hold_the_same_rows_with_their_qualifiers(past: Service) -> None:
    page = get(past, suite=f"{SUITE}@v1.9", include="incomparable", sort="drop")
    answer = past.get("/v1/history", suite=f"{SUITE}@v1.9", include="incomparable", sort="drop", format="csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert tuple(rows[0]) == COLUMNS
    assert [row["id"] for row in rows] == [item["certificate"] for item in page["items"]]
    for row, item in zip(rows, page["items"], strict=True):
        drop = item["metrics"]["utility_drop"]
        assert (row["utility_drop_value"], row["utility_drop_fraction"]) == (drop["value"], drop["fraction"])
        assert (row["utility_drop_low"], row["utility_drop_interval_method"]) == (drop["interval"]["low"], drop["interval"]["method"])
        assert row["suite_digest"] == item["suite"]
        assert row["weighting"] == item["metrics"]["weighting"]
        assert (row["policy"], row["policy_digest"]) == ("standard/1", item["policy"]["digest"])
        assert row["harness"] == "synthetic 1.0"
        assert row["left_out"] == (item["left_out"] or "")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", row["retrieved_at"])
    assert [row["left_out"] for row in rows].count("other-mix") == 1
    parquet = past.get("/v1/history", suite=f"{SUITE}@v1.9", include="incomparable", sort="drop", format="parquet")
    frame = pl.read_parquet(io.BytesIO(parquet.content))
    assert tuple(frame.columns) == COLUMNS
    unstamped = [name for name in COLUMNS if name != "retrieved_at"]
    for row, stored in zip(rows, frame.iter_rows(named=True), strict=True):
        assert {name: row[name] for name in unstamped} == {name: stored[name] or "" for name in unstamped}


def test_latex_carries_what_a_citation_needs(past: Service) -> None:
    page = get(past, suite=f"{SUITE}@v1.9")
    answer = past.get("/v1/history", suite=f"{SUITE}@v1.9", format="latex")
    table = answer.text
    for needed in (page["suite"]["digest"], "weighting: task", "standard/1", "synthetic 1.0", "wilson-clustered-t", "retrieved 20"):
        assert needed in table
    assert table.count(r"\\") == 4  # a head and three rows
    assert r"\dag" not in table
    marked = past.get("/v1/history", suite=f"{SUITE}@v1.9", format="latex", include="incomparable").text
    assert marked.count(r"\textsuperscript{\dag}") == 1
    assert "Left out: 1 other-mix." in marked


def test_a_table_of_a_page_says_where_the_next_begins(past: Service) -> None:
    answer = past.get("/v1/history", suite=f"{SUITE}@v1.9", format="csv", limit=2)
    further = past.get("/v1/history", suite=f"{SUITE}@v1.9", format="csv", limit=2, cursor=answer.headers["pairmark-next"])
    assert len(answer.text.splitlines()) == 3
    assert len(further.text.splitlines()) == 2
    assert "pairmark-next" not in further.headers


@given(st.text())
def test_latex_text_is_one_line_without_commands_of_its_own(text: str) -> None:
    shown = escaped(text)
    assert "\n" not in shown
    bare = re.sub(r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar)\{\}|\\[&%$#_{}]", "", shown)
    assert not set(bare) & set("\\&%$#_{}~^<>|\"")


def test_hostile_names_stay_cells(tmp_path: Path) -> None:
    service = Service.at(tmp_path)
    hostile = 'x",\r\n=cmd|"\\input{/etc/passwd}'.replace("\r\n", " ")
    assert service.certify(service.submit(World().swap_model("all", hostile))).json()["certificate"]
    rows = list(csv.DictReader(io.StringIO(service.get("/v1/history", suite=SUITE, format="csv").text, newline="")))
    assert [row["models_served"] for row in rows] == [hostile]
    assert r"\input" not in service.get("/v1/history", suite=SUITE, format="latex").text


# versions


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("1.9", "1.10"), ("v1.9", "v1.10"), ("v1.1.2", "v1.2"), ("v1.2", "v1.2.2"), ("v1", "v1.1"), ("1.2.0-rc1", "1.2.0"), ("1.2.0rc1", "1.2.0"),
        ("1.2.0-rc9", "1.2.0-rc10"), ("2024-08-06", "2025-01-01"), ("v9", "v10"), ("1.0a1", "1.0b1"), ("9" * 30, "1" + "0" * 30),
    ],
)
def test_version_order(older: str, newer: str) -> None:
    assert version_key(older) < version_key(newer)


@given(st.lists(st.text(max_size=8), min_size=2, max_size=6))
def test_version_order_is_total(versions: list[str]) -> None:
    turned = versions[::-1]
    assert sorted(versions, key=version_key) == sorted(turned, key=version_key)

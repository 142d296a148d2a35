"""Tables of other people's results: what is wrong with one is said with file and line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.ledgers.documents import read_policy
from pairmark.adapters.tables.agentdyn import COLUMNS, read_agentdyn
from pairmark.adapters.tables.asb import read_asb
from pairmark.adapters.tables.strata import read_strata
from pairmark.app.aggregates_from_episodes import aggregates_of
from pairmark.domain.errors import Malformed

STRATA = (
    "model,defense,benign_planned,benign_usable,benign_utility_k,attacked_planned,attacked_usable,attacked_utility_k,attack_success_k\n"
    "m,no_defense,17,13,12,120,86,59,16\n"
)
ASB = "Agent Name,Attack Tool,Attack Successful,Original Task Successful\na,t1,0,1\na,t2,1,0\n"


def agentdyn(*rows: dict[str, str]) -> str:
    base = dict.fromkeys(COLUMNS, "") | {
        "pipeline_dir": "m", "suite": "shopping", "user_task_id": "u0", "arm": "benign", "utility": "true", "security": "true",
    }  # fmt: skip
    lines = [",".join(COLUMNS), *(",".join((base | row)[name] for name in COLUMNS) for row in rows)]
    return "\n".join(lines) + "\n"


def test_agentdyn_facts_are_kept_apart(tmp_path: Path) -> None:
    """Security counts under attack only; errors and killed runs have no outcome; other arms and suites are left out."""
    hit = {"arm": "attacked", "attack_type": "ii", "injection_task_id": "i0", "injection_text_seen": "true"}
    table = agentdyn(
        {}, {"user_task_id": "u1", "utility": "false"},
        hit, hit | {"user_task_id": "u1", "utility": "false", "error": "503"}, hit | {"injection_task_id": "i1", "utility": "", "security": ""},
        {"pipeline_dir": "m-drift", "arm": "injection_task_as_user_task"}, {"suite": "travel"},
    )  # fmt: skip
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(table.encode()))
    told = read_agentdyn(tmp_path / "t.csv.gz")
    documents = list(aggregates_of(told, "x", read_policy("standard/1").policy))
    assert [one["name"] for one in documents] == ["m", "m-drift"]
    counts = documents[0]["counts"]
    assert counts["benign"] == {"planned": 2, "assessed": 2, "utility": 1}
    assert counts["attacked"] == {"planned": 3, "assessed": 1, "utility": 1, "attack_success_known": 1, "attack_success": 1}
    assert documents[1]["counts"]["benign"]["assessed"] == 0
    assert documents[1]["attack"] is None
    assert documents[1]["system"]["defenses"] == [{"name": "drift", "version": None, "changes": []}]
    assert documents[0]["system"]["defenses"] == []


Read = Callable[[Path], Any]


def strata(path: Path) -> Any:
    return list(read_strata(path, "x", None))


def asb(path: Path) -> Any:
    return read_asb(path, path, None, "x")


@pytest.mark.parametrize(
    ("read", "text", "code", "line"),
    [
        (strata, STRATA.replace("12", "twelve", 1), "not-a-count", 2),
        (strata, STRATA.replace(",12,", ",-12,"), "not-a-count", 2),
        (strata, STRATA.replace(",12,", ",12.5,"), "not-a-count", 2),
        (strata, STRATA.replace(",12,", ",,"), "not-a-count", 2),
        (strata, STRATA.replace("benign_usable", "benign_used"), "missing-columns", 1),
        (strata, "", "not-csv", None),
        (strata, "a,b\n1,2,3,4\n", "not-csv", None),
        (asb, ASB.replace("t2", "t1"), "repeated-row", None),
        (asb, ASB.replace("a,t2,1,0", "a,t2,1,2"), "not-a-flag", None),
        (asb, ASB.replace("a,t2,1,0", "a,t2,1,"), "not-a-count", 3),
        (asb, ASB.partition("\n")[0] + "\n", "empty-table", None),
        (read_agentdyn, agentdyn({}).replace("pipeline_dir", "dir"), "missing-columns", 1),
    ],
)
def test_damaged_tables(tmp_path: Path, read: Read, text: str, code: str, line: int | None) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(Malformed) as refused:
        read(tmp_path / "t.csv")
    assert (refused.value.code, refused.value.line) == (code, line)
    assert refused.value.file == str(tmp_path / "t.csv")
    assert refused.value.remedy


def test_a_truncated_archive_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(STRATA.encode() * 500)[:-40])
    with pytest.raises(Malformed):
        strata(tmp_path / "t.csv.gz")
    with pytest.raises(Malformed, match="no such file"):
        strata(tmp_path / "missing.csv")


def test_an_outcome_that_is_neither_true_nor_false(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(agentdyn({"utility": "yes"}))
    with pytest.raises(Malformed) as refused:
        read_agentdyn(tmp_path / "t.csv")
    assert refused.value.code == "not-a-flag"


def test_tables_that_do_not_pair(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(ASB)
    (tmp_path / "b.csv").write_text(ASB.replace("t2", "t3"))
    with pytest.raises(Malformed) as refused:
        read_asb(tmp_path / "a.csv", tmp_path / "b.csv", None, "x")
    assert refused.value.code == "unpaired-rows"

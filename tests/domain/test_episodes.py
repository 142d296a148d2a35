"""Canonical order and the ledger digest, held against plain Python over JSON."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from pairmark.domain.documents.episode import STATUSES, Episode
from pairmark.domain.episodes import (
    EPISODE_SCHEMA,
    canonical_line,
    empty_frame,
    frame_of,
    in_canonical_order,
    ledger_digest,
)
from pairmark.domain.world import World

IDS = ["a", "B", "aa", "é", "é", "\uffff", "\U00010000", "10", "9", "1.10", " "]

rows_of_ledgers = st.lists(
    st.fixed_dictionaries(
        {
            "task_id": st.sampled_from(IDS),
            "injection_id": st.sampled_from([*IDS, None]),
            "epoch": st.sampled_from([1, 2, 10, 2**53 - 1]),
            "status": st.sampled_from(STATUSES),
        },
        optional={
            "utility": st.sampled_from([True, False, None]),
            "attacker_actions": st.sampled_from([0, 2**53 - 1, None]),
            "duration_ms": st.sampled_from([0, 12840, None]),
            "error": st.sampled_from(["", '\u2028\n"\\', "😀", None]),
            "attempt": st.sampled_from([1, 2, 10, None]),
        },
    ),
    max_size=12,
)


def full(row: dict[str, Any]) -> dict[str, Any]:
    return {**{key: row.get(key) for key in EPISODE_SCHEMA}, "attempt": row.get("attempt") or 1}


def by_hand(rows: list[dict[str, Any]]) -> str:
    """For these rows RFC 8785 is what json writes: keys are ASCII, and no number is a float."""
    ordered = sorted(
        map(full, rows),
        key=lambda r: (r["task_id"], r["injection_id"] is not None, r["injection_id"] or "", r["epoch"], r["attempt"]),
    )
    lines = [json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n" for row in ordered]
    return "sha256:" + hashlib.sha256("".join(lines).encode()).hexdigest()


@given(rows_of_ledgers)
def test_the_digest_is_over_canonical_lines_in_canonical_order(rows: list[dict[str, Any]]) -> None:
    assert ledger_digest(frame_of(rows)) == by_hand(rows)


@given(rows_of_ledgers, st.randoms())
def test_the_order_of_different_lines_does_not_matter(rows: list[dict[str, Any]], order: Any) -> None:
    keys = ("task_id", "injection_id", "epoch", "attempt")
    distinct = list({tuple(full(row)[key] for key in keys): row for row in rows}.values())
    shuffled = list(distinct)
    order.shuffle(shuffled)
    assert ledger_digest(frame_of(shuffled)) == ledger_digest(frame_of(distinct))


def test_ties_stay_in_file_order() -> None:
    row = {"task_id": "t", "injection_id": None, "epoch": 1, "status": "completed"}
    one, other = (
        frame_of([{**row, "utility": True}, {**row, "utility": False}]),
        frame_of([{**row, "utility": False}, {**row, "utility": True}]),
    )
    assert one["utility"].to_list() == [True, False]
    assert ledger_digest(one) != ledger_digest(other)


def test_ids_by_code_point_null_first_numbers_by_value() -> None:
    frame = frame_of(
        {"task_id": task, "injection_id": injection, "epoch": epoch, "status": "completed"}
        for task, injection, epoch in [
            ("\U00010000", "i", 1),
            ("\uffff", "i", 10),
            ("\uffff", "i", 9),
            ("\uffff", None, 11),
            ("10", "i", 1),
            ("9", "i", 1),
        ]
    )
    assert frame.select("task_id", "injection_id", "epoch").rows() == [
        ("10", "i", 1),
        ("9", "i", 1),
        ("\uffff", None, 11),
        ("\uffff", "i", 9),
        ("\uffff", "i", 10),
        ("\U00010000", "i", 1),
    ]


def test_an_empty_ledger_has_the_digest_of_no_bytes() -> None:
    assert ledger_digest(empty_frame()) == "sha256:" + hashlib.sha256(b"").hexdigest()
    assert in_canonical_order(empty_frame()).schema == pl.Schema(EPISODE_SCHEMA)


def test_the_columns_are_the_keys_of_an_episode() -> None:
    assert list(EPISODE_SCHEMA) == list(Episode.model_fields)
    assert len(EPISODE_SCHEMA) == 14


def test_every_line_of_a_world_is_an_episode() -> None:
    for role in ("benign", "attacked", "baseline"):
        for row in World().frame(role).head(5).iter_rows(named=True):
            assert Episode.model_validate_json(canonical_line(row)).model_dump() == row

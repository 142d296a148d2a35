"""Ledgers that come as Parquet are judged as strictly as lines, and hostile files are only refused."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pairmark.adapters.ledgers.columnar import read_frame
from pairmark.adapters.ledgers.ingest import LedgerFormat
from pairmark.adapters.ledgers.limits import Limits
from pairmark.domain.episodes import EPISODE_SCHEMA, frame_of, ledger_digest
from pairmark.domain.errors import Malformed
from tests.ledgers.making import Row, episode, episodes, ingested, left_in

FORM = LedgerFormat("parquet")


def table(rows: list[Row], **types: pa.DataType) -> pa.Table:
    base: dict[str, pa.DataType] = {name: pa.string() for name in EPISODE_SCHEMA}
    base |= {name: pa.int64() for name in ("epoch", "attacker_actions", "duration_ms", "attempt")}
    base |= {name: pa.bool_() for name in ("utility", "attack_success", "delivered")}
    return pa.table({name: pa.array([row.get(name) for row in rows], type=kind) for name, kind in (base | types).items()})


def written(what: pa.Table, **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(what, out, **options)
    return out.getvalue()


def refusal(what: pa.Table | bytes, folder: Path, **options: Any) -> Malformed:
    with pytest.raises(Malformed) as caught:
        ingested(what if isinstance(what, bytes) else written(what), folder, FORM, file="f.parquet", **options)
    assert left_in(folder) == []
    return caught.value


ROWS = [{name: row.get(name) for name in EPISODE_SCHEMA} for row in episodes(300)]

TEXT: list[pa.DataType] = [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.large_string())]


@pytest.mark.parametrize("text", TEXT, ids=str)
@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"compression": "zstd", "row_group_size": 50}, {"data_page_version": "2.0"}], ids=str)
def test_every_way_to_write_strings(tmp_path: Path, text: pa.DataType, options: dict[str, Any]) -> None:
    rows = [row | {"served_model": f"{row['task_id']}"[:3]} for row in ROWS]
    what = table(rows, served_model=text, status=text, error=pa.large_string())
    made = ingested(written(what, **options), tmp_path, FORM)
    assert made.digest == ledger_digest(frame_of(rows))


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()], ids=str)
def test_integers_of_any_width(tmp_path: Path, kind: pa.DataType) -> None:
    rows = [episode(epoch=number, attempt=None) for number in (1, 2, 100)]
    assert ingested(written(table(rows, epoch=kind, attempt=kind)), tmp_path, FORM).digest == ledger_digest(frame_of(rows))


def test_optional_columns_may_be_absent_or_hold_nothing_but_nulls(tmp_path: Path) -> None:
    rows = [{key: episode(task_id=f"t{number}")[key] for key in ("task_id", "injection_id", "epoch", "status")} for number in range(3)]
    what = table(rows).select(["status", "epoch", "injection_id", "task_id"])
    assert ingested(written(what), tmp_path, FORM).digest == ledger_digest(frame_of(rows))
    what = table(rows, error=pa.null(), attempt=pa.null(), utility=pa.null())
    assert ingested(written(what), tmp_path, FORM).digest == ledger_digest(frame_of(rows))
    benign = [row | {"injection_id": None} for row in rows]
    assert ingested(written(table(benign, injection_id=pa.null())), tmp_path, FORM).digest == ledger_digest(frame_of(benign))


def test_the_frame_has_the_right_types(tmp_path: Path) -> None:
    made = ingested(written(table(ROWS)), tmp_path, FORM)
    assert read_frame(made.path).equals(frame_of(ROWS))


SHAPES: dict[str, tuple[Callable[[], pa.Table], str, str]] = {
    "unknown column": (lambda: table(ROWS).append_column("seed", pa.array([1] * len(ROWS))), "unknown-key", "/seed"),
    "index column": (lambda: table(ROWS).append_column("__index_level_0__", pa.array([1] * len(ROWS))), "unknown-key", "/__index_level_0__"),
    "column twice": (lambda: table(ROWS).append_column("epoch", pa.array([1] * len(ROWS))), "duplicate-key", "/epoch"),
    "missing column": (lambda: table(ROWS).drop_columns(["injection_id"]), "missing-key", "/injection_id"),
    "floats": (lambda: table([episode()], epoch=pa.float64()), "invalid-type", "/epoch"),
    "numbers for booleans": (lambda: table([episode(utility=1)], utility=pa.int8()), "invalid-type", "/utility"),
    "bytes for text": (lambda: table([episode(error=b"x")], error=pa.binary()), "invalid-type", "/error"),
    "numbers for ids": (lambda: table([episode(task_id=1)], task_id=pa.int64()), "invalid-type", "/task_id"),
    "decimals": (lambda: table([episode()], epoch=pa.decimal128(5, 0)), "invalid-type", "/epoch"),
    "list": (lambda: table([episode(error=["x"])], error=pa.list_(pa.string())), "invalid-type", "/error"),
    "struct": (lambda: table([episode(error={"a": 1})], error=pa.struct([("a", pa.int64())])), "invalid-type", "/error"),
    "dictionary of numbers": (lambda: table([episode(task_id=1)], task_id=pa.dictionary(pa.int8(), pa.int64())), "invalid-type", "/task_id"),
    "null type where a value is required": (lambda: table([episode(task_id=None)], task_id=pa.null()), "invalid-value", "/task_id"),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_other_shapes_are_refused(tmp_path: Path, name: str) -> None:
    make, code, pointer = SHAPES[name]
    found = refusal(make(), tmp_path)
    assert (found.code, found.pointer, found.file) == (code, pointer, "f.parquet")


BAD = [
    ({"task_id": ""}, "/task_id"), ({"task_id": None}, "/task_id"), ({"injection_id": "a\x01"}, "/injection_id"), ({"epoch": 0}, "/epoch"),
    ({"epoch": None}, "/epoch"), ({"epoch": 2**53}, "/epoch"), ({"status": "done"}, "/status"), ({"status": None}, "/status"),
    ({"attempt": 0}, "/attempt"), ({"attacker_actions": -1}, "/attacker_actions"), ({"task_digest": "sha256:x"}, "/task_digest"),
    ({"transcript_digest": "sha256:" + "A" * 64}, "/transcript_digest"), ({"served_model": "x" * 1025}, "/served_model"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "pointer"), BAD)
@pytest.mark.parametrize("row", [0, 20_000])
def test_a_bad_row_is_named(tmp_path: Path, changes: Row, pointer: str, row: int) -> None:
    rows = [episode()] * row + [episode(**changes)] + [episode()] * 5
    found = refusal(table(rows), tmp_path)
    assert (found.code, found.line, found.pointer) == ("invalid-value", row + 1, pointer)


def test_an_unsigned_integer_beyond_every_limit_is_named(tmp_path: Path) -> None:
    found = refusal(table([episode(), episode(duration_ms=2**64 - 1)], duration_ms=pa.uint64()), tmp_path)
    assert (found.line, found.pointer) == (2, "/duration_ms")


def test_ids_that_collide_are_refused(tmp_path: Path) -> None:
    found = refusal(table([episode(task_id="Å"), episode(), episode(task_id="A\u030a")]), tmp_path)
    assert (found.code, found.line, found.pointer) == ("id-collision", 3, "/task_id")


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    _, offsets, content = pa.array([b"user\xff\xfe"], type=pa.binary()).buffers()
    assert offsets is not None
    assert content is not None
    wrong = pa.StringArray.from_buffers(1, offsets, content)
    what = table([episode()]).set_column(0, "task_id", wrong)
    for options in ({}, {"use_dictionary": False}):
        found = refusal(written(what, **options), tmp_path)
        assert found.code in ("bad-parquet", "not-utf8")


def test_repetition_is_no_memory_bomb(tmp_path: Path) -> None:
    """A megabyte of text named 60,000 times is a small file, and 60 GB of ledger."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 60_000, type=pa.int32()), pa.array(["e" * 1_000_000]))
    rows = table([episode()] * 60_000)
    bomb = written(rows.set_column(rows.schema.get_field_index("error"), "error", text))
    assert len(bomb) < 2**20
    found = refusal(bomb, tmp_path)
    assert (found.code, "`ledger`" in found.message) == ("too-large", True)


def test_limits(tmp_path: Path) -> None:
    assert "`rows`" in refusal(table(ROWS), tmp_path, limits=Limits(rows=299)).message
    assert "`ledger`" in refusal(table(ROWS), tmp_path, limits=Limits(ledger=1000)).message
    assert "`ledger`" in refusal(written(table(ROWS), compression="zstd"), tmp_path, limits=Limits(ledger=20_000)).message
    assert "`chunk`" in refusal(table([episode(error="e" * 5000)]), tmp_path, limits=Limits(chunk=4000)).message
    found = refusal(table([episode(), episode(error="e" * 600)]), tmp_path, limits=Limits(line=500))
    assert (found.code, found.line) == ("too-large", 2)


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1PAR1", b"\x00" * 100, b"PAR1" + b"\xff" * 40 + b"PAR1", json.dumps(episode()).encode()])
def test_what_is_no_parquet_is_refused(tmp_path: Path, data: bytes) -> None:
    assert refusal(data, tmp_path).code == "bad-parquet"


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    data = written(table(ROWS))
    for end in range(0, len(data), 211):
        assert refusal(data[:end], tmp_path).code == "bad-parquet"

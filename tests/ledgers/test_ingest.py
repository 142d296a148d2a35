"""From bytes to one checked Parquet object: order, digest, formats, and nothing left behind."""

from __future__ import annotations

import gzip
import hashlib
import io
import random
from pathlib import Path

import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from pairmark.adapters.ledgers import build
from pairmark.adapters.ledgers.columnar import frames_of, lines_of, page_of, read_frame, rows_of
from pairmark.adapters.ledgers.ingest import LedgerFormat, LedgerIngest, ingest_ledger
from pairmark.adapters.ledgers.limits import Limits
from pairmark.adapters.ledgers.merge import ExternalSort
from pairmark.domain.episodes import EPISODE_SCHEMA, canonical_line, frame_of, in_canonical_order, ledger_digest
from pairmark.domain.errors import Malformed
from tests.ledgers.making import Row, episode, episodes, ingested, left_in, lines


def encoded(rows: list[Row], form: LedgerFormat) -> bytes:
    if form.kind == "parquet":
        out = io.BytesIO()
        pl.DataFrame([{key: row.get(key) for key in EPISODE_SCHEMA} for row in rows], schema=EPISODE_SCHEMA).cast(
            {"status": pl.String}
        ).write_parquet(out)
        data = out.getvalue()
    else:
        data = lines(rows)
    if form.encoding == "gzip":
        return gzip.compress(data)
    return zstandard.compress(data) if form.encoding == "zstd" else data


FORMS = [LedgerFormat(kind, encoding) for kind in ("jsonl", "parquet") for encoding in ("identity", "gzip", "zstd")]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("count", [0, 1, 700])
def test_every_format_gives_the_reference_digest_and_frame(tmp_path: Path, form: LedgerFormat, count: int) -> None:
    rows = episodes(count)
    expected = frame_of(rows)
    made = ingested(encoded(rows, form), tmp_path, form)
    assert (made.count, made.digest) == (count, ledger_digest(expected))
    assert read_frame(made.path).equals(expected)
    assert read_frame(made.path).schema == EPISODE_SCHEMA
    assert left_in(tmp_path) == [made.path.name]


@pytest.mark.parametrize("style", [0, 1, 2])
def test_the_way_of_writing_does_not_matter(tmp_path: Path, style: int) -> None:
    rows = episodes(300)
    assert ingested(lines(rows, style=style), tmp_path).digest == ledger_digest(frame_of(rows))


def test_canonical_lines_digest_to_their_own_hash(tmp_path: Path) -> None:
    data = b"".join(canonical_line(row) for row in frame_of(episodes(200)).iter_rows(named=True))
    made = ingested(data, tmp_path, require_order=True)
    assert made.digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert b"".join(lines_of(made.path)) == data


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(["a", "B", "é", "😀", "\uffff", "a\u0301"]), st.sampled_from([None, "", "a", "é"]), st.sampled_from([1, 2, 10]), st.sampled_from([None, 1, 3])), max_size=30))
def test_any_order_is_sorted_by_code_point_and_value_with_ties_in_file_order(
    tmp_path_factory: pytest.TempPathFactory, keys: list[tuple[str, str | None, int, int | None]]
) -> None:
    rows = [
        episode(task_id=f"{task}.", injection_id=None if injection is None else f"{injection}.", epoch=epoch, attempt=attempt, duration_ms=number)
        for number, (task, injection, epoch, attempt) in enumerate(keys)
    ]
    wanted = sorted(
        range(len(rows)),
        key=lambda at: (
            [ord(c) for c in rows[at]["task_id"]],
            rows[at]["injection_id"] is not None,
            [ord(c) for c in rows[at]["injection_id"] or ""],
            rows[at]["epoch"],
            rows[at]["attempt"] or 1,
        ),
    )
    made = ingested(lines(rows), tmp_path_factory.mktemp("sorted"))
    assert read_frame(made.path)["duration_ms"].to_list() == wanted
    assert made.digest == ledger_digest(frame_of(rows))


@pytest.mark.parametrize("prefix", [0, 1, 3000])
@pytest.mark.parametrize("run_bytes", [1, 40_000, 10_000_000])
def test_external_sort_equals_sorting_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: int, run_bytes: int
) -> None:
    """Also when part of the ledger came in order and was written already, and with many more runs than are merged at once."""
    monkeypatch.setattr(build, "ExternalSort", lambda folder: ExternalSort(folder, run_bytes=run_bytes, fan_in=3))
    ordered = frame_of(episode(task_id=f"a{number:05d}") for number in range(prefix)).to_dicts()
    rows = ordered + episodes(4000, tasks=2, injections=1)
    expected = frame_of(rows)
    builder = build.LedgerBuilder(tmp_path, file=None, require_order=False)
    for start in range(0, len(rows), 500):
        part = pl.DataFrame([{key: row.get(key) for key in EPISODE_SCHEMA} for row in rows[start : start + 500]], schema=EPISODE_SCHEMA)
        builder.add(part.with_columns(pl.col("attempt").fill_null(1)))
    count, digest, path = builder.finish()
    builder.close()
    assert (count, digest) == (len(rows), ledger_digest(expected))
    assert read_frame(path).equals(expected)
    assert len(left_in(tmp_path)) <= 5, "scratch files pile up"


def test_sorting_is_stable_over_equal_keys_in_many_runs(tmp_path: Path) -> None:
    rng = random.Random(3)
    sorter = ExternalSort(tmp_path, run_bytes=1, fan_in=2)
    frames = [frame_of([episode(epoch=1 + rng.randrange(2), duration_ms=100 * part + row) for row in range(20)]) for part in range(9)]
    for frame in frames:
        sorter.add(frame)
    assert pl.concat(list(sorter.merged())).equals(in_canonical_order(pl.concat(frames)))


@pytest.mark.parametrize("count", [2, 300, 3000])
def test_where_order_is_required_the_first_line_out_of_order_is_named(tmp_path: Path, count: int) -> None:
    rows = frame_of(episode(task_id=f"t{number:06d}") for number in range(count)).to_dicts()
    assert ingested(lines(rows), tmp_path, require_order=True).count == count
    at = count // 2
    rows[at], rows[at - 1] = rows[at - 1], rows[at]
    with pytest.raises(Malformed) as caught:
        ingested(lines(rows), tmp_path / "second", require_order=True, file="body")
    assert (caught.value.code, caught.value.file, caught.value.line) == ("out-of-order", "body", at + 1)
    assert left_in(tmp_path / "second") == []


ORDERED_PAIRS = [
    (episode(injection_id=None), episode(injection_id="a")),
    (episode(injection_id="Z"), episode(injection_id="a")),
    (episode(epoch=9), episode(epoch=10)),
    (episode(attempt=None), episode(attempt=2)),
    (episode(attempt=1), episode(attempt=None)),
    (episode(task_id="\uffff"), episode(task_id="😀")),  # by code point, not by UTF-16 unit
    (episode(task_id="a", epoch=5), episode(task_id="b", epoch=1)),
    (episode(task_id="a", injection_id="b"), episode(task_id="b", injection_id=None)),
]


@pytest.mark.parametrize("pair", ORDERED_PAIRS)
def test_what_canonical_order_is(tmp_path: Path, pair: tuple[Row, Row]) -> None:
    ingested(lines(pair), tmp_path, require_order=True)
    if pair[0]["attempt"] == 1 and pair[1]["attempt"] is None:
        return  # equal keys, in either order
    with pytest.raises(Malformed, match="out-of-order"):
        ingested(lines(reversed(pair)), tmp_path, require_order=True)


@pytest.mark.parametrize("spoilt", [0, 2500, 4999])
def test_after_an_error_nothing_remains(tmp_path: Path, spoilt: int) -> None:
    rows = episodes(5000)
    rows[spoilt] = rows[spoilt] | {"status": "fine"}
    with pytest.raises(Malformed) as caught:
        ingested(lines(rows), tmp_path)
    assert caught.value.line == spoilt + 1
    assert left_in(tmp_path) == []


def test_an_abandoned_ingest_leaves_nothing(tmp_path: Path) -> None:
    with LedgerIngest(LedgerFormat("jsonl"), tmp_path) as ingest:
        ingest.feed(lines(episodes(100)))
        assert left_in(tmp_path) != []
    assert left_in(tmp_path) == []


def test_the_line_named_is_the_first_that_is_wrong_even_while_later_ones_are_parsed(tmp_path: Path) -> None:
    """Order is judged beside parsing; an earlier line out of order must not lose against a later malformed one."""
    ordered = frame_of(episode(task_id=f"t{number:06d}", error="x" * 400) for number in range(30_000)).to_dicts()
    ordered[10], ordered[11] = ordered[11], ordered[10]
    data = lines(ordered) + b"nonsense\n"
    with pytest.raises(Malformed) as caught:
        ingest_ledger([data], LedgerFormat("jsonl"), tmp_path, require_order=True)
    with pytest.raises(Malformed) as again:
        ingest_ledger((data[at : at + 2**20] for at in range(0, len(data), 2**20)), LedgerFormat("jsonl"), tmp_path, require_order=True)
    assert again.value.line == 12
    assert caught.value.line in (12, 30_001)  # in one piece, everything is parsed before anything is ordered


def test_a_page_holds_the_rows_asked_for(tmp_path: Path) -> None:
    rows = [episode(task_id=f"t{number:06d}", error="e" * 900) for number in range(40_000)]
    made = ingested(lines(rows), tmp_path)
    whole = read_frame(made.path)
    assert len(list(frames_of(made.path))) > 1
    assert rows_of(made.path) == 40_000
    for offset, limit in [(0, 1), (0, 40_000), (9_999, 20_003), (39_999, 10), (40_000, 5), (17, 0), (50_000, 1)]:
        assert page_of(made.path, offset, limit).equals(whole.slice(offset, limit))


def test_the_stream_of_lines_comes_in_pieces(tmp_path: Path) -> None:
    rows = [episode(task_id=f"t{number:06d}") for number in range(20_000)]
    made = ingested(lines(rows), tmp_path)
    pieces = list(lines_of(made.path))
    assert max(map(len, pieces)) < 8 * 2**20
    assert all(piece.endswith(b"\n") for piece in pieces)
    assert f"sha256:{hashlib.sha256(b''.join(pieces)).hexdigest()}" == made.digest


def test_long_texts_do_not_make_large_row_groups(tmp_path: Path) -> None:
    rows = [episode(task_id=f"t{number % 7}", error="e" * 900_000) for number in range(60)]
    made = ingested(lines(rows), tmp_path)
    assert max(frame.estimated_size() for frame in frames_of(made.path)) < 40 * 2**20
    assert made.digest == ledger_digest(frame_of(rows))


def test_the_limit_on_what_a_ledger_expands_to_is_named(tmp_path: Path) -> None:
    data = lines(episodes(2000))
    for form, packed in [
        (LedgerFormat("jsonl"), data),
        (LedgerFormat("jsonl", "gzip"), gzip.compress(data)),
        (LedgerFormat("jsonl", "zstd"), zstandard.compress(data)),
    ]:
        with pytest.raises(Malformed, match=r"limit `ledger`.*too-large"):
            ingested(packed, tmp_path, form, limits=Limits(ledger=len(data) - 1))
        assert ingested(packed, tmp_path / form.encoding, form, limits=Limits(ledger=len(data))).count == 2000


@pytest.mark.parametrize("require_order", [True, False])
def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, require_order: bool) -> None:
    """What goes wrong in the other thread reaches the caller, as it is: it is no fault of the ledger."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pairmark.adapters.ledgers.columnar.ParquetSink.write", full)
    rows = frame_of(episodes(300)).to_dicts()
    with pytest.raises(OSError, match="No space left"):
        ingested(lines(rows if require_order else [rows[-1], *rows]), tmp_path, require_order=require_order)
    assert left_in(tmp_path) == []

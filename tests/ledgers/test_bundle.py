"""Run bundles on disk: read with everything checked, written whole or not at all."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import zstandard

from pairmark.adapters.ledgers.bundle import read_bundle, write_bundle
from pairmark.adapters.ledgers.limits import DEFAULT_LIMITS, Limits
from pairmark.domain.canonical import digest_of
from pairmark.domain.episodes import EPISODE_SCHEMA, empty_frame, frame_of, ledger_digest
from pairmark.domain.errors import Malformed
from tests.ledgers.making import bundle, digest, episode, episodes, left_in, lines, run_document


def refusal(path: Path, limits: Limits = DEFAULT_LIMITS) -> Malformed:
    with pytest.raises(Malformed) as caught:
        read_bundle(path, "attacked", limits=limits)
    return caught.value


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    rows = episodes(500)
    arm = read_bundle(bundle(tmp_path / "run", rows), "baseline")
    expected = frame_of(rows)
    assert arm.role == "baseline"
    assert arm.ledger.equals(expected)
    assert arm.ledger.schema == EPISODE_SCHEMA
    assert arm.ledger_digest == ledger_digest(expected)
    run = run_document(episodes={"count": 500, "digest": arm.ledger_digest})
    assert arm.run_digest == digest_of(run)
    assert json.loads((tmp_path / "run" / "run.json").read_text()) == run
    assert left_in(tmp_path) == ["run", "run/episodes.jsonl", "run/run.json"]


@pytest.mark.parametrize("name", ["episodes.jsonl", "episodes.jsonl.gz", "episodes.jsonl.zst", "episodes.parquet"])
def test_every_ledger_format_in_any_order(tmp_path: Path, name: str) -> None:
    rows = episodes(3000)
    folder = bundle(tmp_path / "run", rows)
    (folder / "episodes.jsonl").unlink()
    data = lines(rows, style=1)
    if name.endswith(".gz"):
        data = gzip.compress(data)
    elif name.endswith(".zst"):
        data = zstandard.compress(data)
    if name.endswith(".parquet"):
        frame = pl.DataFrame([{key: row.get(key) for key in EPISODE_SCHEMA} for row in rows], schema=EPISODE_SCHEMA)
        frame.cast({"status": pl.String}).write_parquet(folder / name)
    else:
        (folder / name).write_bytes(data)
    arm = read_bundle(folder, "attacked")
    assert arm.ledger_digest == ledger_digest(frame_of(rows))
    assert arm.ledger.equals(frame_of(rows))


def test_an_empty_ledger_is_well_formed(tmp_path: Path) -> None:
    arm = read_bundle(bundle(tmp_path / "run", []), "benign")
    assert arm.ledger.equals(empty_frame())
    assert arm.ledger.schema == EPISODE_SCHEMA


def test_count_and_digest_must_hold(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "run", episodes(10))
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace('"count": 10', '"count": 11'))
    found = refusal(folder)
    assert (found.code, found.pointer, found.file) == ("count-mismatch", "/episodes/count", f"{folder}/run.json")
    (folder / "run.json").write_text(text)
    data = (folder / "episodes.jsonl").read_bytes()
    (folder / "episodes.jsonl").write_bytes(data.replace(b'"duration_ms":12840', b'"duration_ms":12841', 1))
    found = refusal(folder)
    assert (found.code, found.pointer) == ("digest-mismatch", "/episodes/digest")


def test_a_run_that_is_not_sealed_is_refused(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "run", episodes(3))
    (folder / "run.json").write_text(json.dumps(run_document()))
    found = refusal(folder)
    assert (found.code, found.pointer) == ("not-sealed", "/episodes")


def test_files_that_are_missing_or_too_many(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "run", episodes(3))
    (folder / "episodes.jsonl.gz").write_bytes(b"")
    assert refusal(folder).code == "ledger-files"
    (folder / "episodes.jsonl.gz").unlink()
    (folder / "notes.txt").write_text("beside the two files, others are left alone in a directory")
    read_bundle(folder, "attacked")
    (folder / "episodes.jsonl").rename(folder / "episodes.csv")
    assert refusal(folder).code == "ledger-files"
    (folder / "run.json").unlink()
    assert refusal(folder).code == "no-run"
    assert refusal(tmp_path / "nowhere").code == "unreadable"
    assert refusal(folder / "notes.txt").code == "bad-compression"
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe").code == "unreadable"
    assert refusal(Path("\x00")).code == "unreadable"


def test_errors_name_the_file_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle(tmp_path / "run", episodes(3))
    (tmp_path / "run" / "episodes.jsonl").write_bytes(lines([episode(), episode(utility="yes")]))
    monkeypatch.chdir(tmp_path)
    found = refusal(Path("run"))
    assert (found.file, found.line, found.pointer) == ("run/episodes.jsonl", 2, "/utility")
    assert str(found).startswith("run/episodes.jsonl:2 /utility: expected")


def test_a_document_beyond_the_limit(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "run", episodes(3))
    assert "`document`" in refusal(folder, Limits(document=100)).message


def test_writing_refuses_what_could_not_be_read_back(tmp_path: Path) -> None:
    good = frame_of(episodes(5))
    for column, value in [("task_id", ""), ("epoch", 0), ("task_digest", "x"), ("served_model", "a\nb"), ("duration_ms", 2**53)]:
        bad = good.with_columns(pl.when(pl.int_range(pl.len()) == 2).then(pl.lit(value)).otherwise(pl.col(column)).alias(column))
        with pytest.raises(Malformed) as caught:
            write_bundle(run_document(), bad, tmp_path / "run")
        assert caught.value.pointer == f"/{column}"
    with pytest.raises(Malformed, match="/arm"):
        write_bundle(run_document(arm="both"), good, tmp_path / "run")
    assert left_in(tmp_path) == []


def test_writing_never_overwrites(tmp_path: Path) -> None:
    bundle(tmp_path / "run", episodes(2))
    with pytest.raises(Malformed, match="exists"):
        bundle(tmp_path / "run", episodes(3))
    assert read_bundle(tmp_path / "run", "attacked").ledger.height == 2
    (tmp_path / "empty").mkdir()
    bundle(tmp_path / "empty", episodes(2))
    (tmp_path / "file").write_text("")
    with pytest.raises(Malformed, match="exists"):
        bundle(tmp_path / "file", episodes(2))


def test_a_failure_while_writing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pairmark.adapters.ledgers.bundle.canonical_lines", fail)
    with pytest.raises(OSError, match="No space"):
        bundle(tmp_path / "run", episodes(2))
    assert left_in(tmp_path) == []


def test_the_digest_of_the_reference_is_that_of_the_reader(tmp_path: Path, shared: Path) -> None:
    """A ledger of real harness output: declared digests hold for bundles that others wrote."""
    import tarfile

    with tarfile.open(shared / "cases" / "cases.tar.xz") as cases:
        cases.extractall(tmp_path, filter="data")
    folders = sorted(path.parent for path in tmp_path.glob("*/*/run.json"))
    wrong = {}
    for folder in folders:
        try:
            read_bundle(folder, "attacked")
        except Malformed as problem:
            wrong[folder.parent.name] = problem.code
    assert wrong == {
        "count-does-not-match": "count-mismatch", "ledger-digest-off-by-one": "digest-mismatch", "nan-in-ledger": "not-finite",
        "string-boolean": "invalid-value", "truncated-ledger": "not-json",
    }  # fmt: skip
    assert len(folders) > 100
    assert digest("x") != digest("y")


def test_reading_lines_loads_no_parquet_library(tmp_path: Path) -> None:
    """Half a second of every `pairmark check`."""
    folder = bundle(tmp_path / "run", episodes(200))
    program = (
        "import sys; from pairmark.adapters.ledgers.bundle import read_bundle; "
        f"read_bundle({str(folder)!r}, 'attacked'); sys.exit('pyarrow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

"""The object store: atomic, safe under concurrency, verifiable, and only scratch is ever swept."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pairmark.adapters.ledgers.columnar import ParquetSink, read_frame
from pairmark.adapters.ledgers.objects import FileObjectStore
from pairmark.domain.episodes import frame_of
from pairmark.domain.errors import Malformed, NotFound
from tests.ledgers.making import digest, episodes, ingested, left_in, lines


def test_a_ledger_goes_in_and_comes_back(tmp_path: Path) -> None:
    store = FileObjectStore(tmp_path)
    rows = episodes(100)
    made = ingested(lines(rows), store.scratch())
    assert not store.exists(made.digest)
    assert store.put_if_absent(made.digest, made.path) is True
    assert store.exists(made.digest)
    assert read_frame(store.open(made.digest)).equals(frame_of(rows))
    assert store.verify(made.digest)
    assert list(store.digests()) == [made.digest]
    assert left_in(store.scratch()) == []
    again = ingested(lines(rows, style=1), store.scratch())
    assert store.put_if_absent(again.digest, again.path) is False
    assert left_in(store.scratch()) == []


def test_bytes_and_files_from_elsewhere(tmp_path: Path) -> None:
    store = FileObjectStore(tmp_path / "store")
    assert store.put_if_absent(digest("a"), b"content") is True
    assert store.open(digest("a")).read_bytes() == b"content"
    outside = tmp_path / "outside"
    outside.write_bytes(b"more")
    assert store.put_if_absent(digest("b"), outside) is True
    assert store.open(digest("b")).read_bytes() == b"more"
    assert not outside.exists()


@pytest.mark.parametrize("key", ["", "sha256:", "sha256:../../etc/passwd", digest("a").upper(), digest("a") + "\n", digest("a")[:-1], "md5:" + "a" * 64])
def test_a_key_is_a_digest_and_no_path(tmp_path: Path, key: str) -> None:
    store = FileObjectStore(tmp_path)
    for use in (store.exists, store.open, store.verify, lambda it: store.put_if_absent(it, b"")):
        with pytest.raises(Malformed, match="invalid-digest"):
            use(key)


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        FileObjectStore(tmp_path).open(digest("a"))


def test_a_damaged_or_exchanged_object_does_not_verify(tmp_path: Path) -> None:
    store = FileObjectStore(tmp_path)
    made = ingested(lines(episodes(50)), store.scratch())
    store.put_if_absent(made.digest, made.path)
    path = store.open(made.digest)
    path.chmod(0o644)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert not store.verify(made.digest)
    path.write_bytes(whole)
    assert store.verify(made.digest)
    with ParquetSink(path) as sink:
        sink.write(frame_of(episodes(49)))
    assert not store.verify(made.digest)


def _put(root: Path, key: str, content: bytes) -> bool:
    return FileObjectStore(root).put_if_absent(key, content)


def test_many_writers_of_one_object(tmp_path: Path) -> None:
    content = os.urandom(200_000)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: _put(tmp_path, digest("a"), content), range(40)))
    with multiprocessing.get_context("spawn").Pool(2) as processes:
        processes.starmap(_put, [(tmp_path, digest("b"), content)] * 6)
    store = FileObjectStore(tmp_path)
    assert store.open(digest("a")).read_bytes() == store.open(digest("b")).read_bytes() == content
    assert left_in(store.scratch()) == []
    assert len(list(store.digests())) == 2


def test_a_write_that_fails_leaves_no_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileObjectStore(tmp_path)

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        store.put_if_absent(digest("a"), b"content")
    assert not store.exists(digest("a"))


def test_a_sweep_removes_old_scratch_and_nothing_else(tmp_path: Path) -> None:
    store = FileObjectStore(tmp_path)
    store.put_if_absent(digest("a"), b"content")
    (store.scratch() / "put-old").write_bytes(b"left by a crash")
    (store.scratch() / "ingest-old").mkdir()
    (store.scratch() / "ingest-old" / "run-0.parquet").write_bytes(b"")
    now = time.time()
    assert store.sweep(now - 3600) == 0
    assert store.sweep(now + 60) == 2
    assert left_in(store.scratch()) == []
    assert store.exists(digest("a"))

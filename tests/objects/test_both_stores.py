"""What holds of every object store, whatever it is made of."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pairmark.adapters.ledgers.columnar import read_frame
from pairmark.domain.episodes import frame_of
from pairmark.domain.errors import Malformed, NotFound
from tests.ledgers.making import digest, episodes, ingested, left_in, lines
from tests.objects.conftest import MIB, MakeStore


def test_a_ledger_goes_in_and_comes_back(make_store: MakeStore) -> None:
    store, rows = make_store(), episodes(100)
    made = ingested(lines(rows), store.scratch())
    assert not store.exists(made.digest)
    assert store.put_if_absent(made.digest, made.path) is True
    assert not made.path.exists()
    assert store.exists(made.digest)
    with make_store().fetched(made.digest) as path:
        assert read_frame(path).equals(frame_of(rows))
    assert store.verify(made.digest)
    assert [each.digest for each in store.kept()] == [made.digest]


def test_the_first_content_stays_and_a_second_file_is_consumed(make_store: MakeStore, tmp_path: Path) -> None:
    store, other = make_store(), tmp_path / "other"
    assert store.put_if_absent(digest("a"), b"first") is True
    other.write_bytes(b"second")
    assert store.put_if_absent(digest("a"), other) is False
    assert not other.exists()
    assert store.put_if_absent(digest("a"), b"third") is False
    with store.fetched(digest("a")) as path:
        assert path.read_bytes() == b"first"


@pytest.mark.parametrize("size", [0, 1, 8 * MIB, 8 * MIB + 1, 20 * MIB])
def test_sizes_around_a_part_come_back_whole(make_store: MakeStore, tmp_path: Path, size: int) -> None:
    store, file, content = make_store(), tmp_path / "content", os.urandom(size)
    file.write_bytes(content)
    assert store.put_if_absent(digest("a"), file) is True
    with store.fetched(digest("a")) as path:
        assert path.read_bytes() == content
    (kept,) = store.kept()
    assert (kept.digest, kept.size) == (digest("a"), size)
    assert abs(kept.changed - time.time()) < 60


@pytest.mark.parametrize("key", ["", "sha256:", "sha256:../../etc/passwd", digest("a").upper(), digest("a") + "\n", "md5:" + "a" * 64])
def test_a_key_is_a_digest_and_no_path(make_store: MakeStore, key: str) -> None:
    store = make_store()

    def fetch(key: str) -> None:
        with store.fetched(key):
            pass

    for use in (store.exists, fetch, store.verify, lambda it: store.put_if_absent(it, b""), lambda it: store.remove_if_older(it, 0.0)):
        with pytest.raises(Malformed, match="invalid-digest"):
            use(key)


def test_what_is_not_there_is_not_found(make_store: MakeStore) -> None:
    with pytest.raises(NotFound), make_store().fetched(digest("a")):
        pass
    assert make_store().remove_if_older(digest("a"), time.time() + 60) is False


def test_many_writers_of_one_object_leave_one(make_store: MakeStore) -> None:
    content = os.urandom(200_000)
    stores = [make_store() for _ in range(4)]
    with ThreadPoolExecutor(8) as threads:
        new = list(threads.map(lambda number: stores[number % 4].put_if_absent(digest("a"), content), range(32)))
    assert any(new)
    with stores[0].fetched(digest("a")) as path:
        assert path.read_bytes() == content
    assert len(list(stores[0].kept())) == 1


def test_only_what_is_old_is_removed(make_store: MakeStore) -> None:
    store = make_store()
    store.put_if_absent(digest("a"), b"content")
    assert store.remove_if_older(digest("a"), time.time() - 60) is False
    assert store.exists(digest("a"))
    assert store.remove_if_older(digest("a"), time.time() + 60) is True
    assert not store.exists(digest("a"))
    assert left_in(store.scratch()) == []


def test_a_sweep_removes_old_scratch_and_no_copy_that_is_read(make_store: MakeStore) -> None:
    store = make_store()
    store.put_if_absent(digest("a"), b"content")
    (store.scratch() / "put-old").write_bytes(b"left by a crash")
    (store.scratch() / "fetched-dead").mkdir()
    (store.scratch() / "fetched-dead" / "copy").write_bytes(b"left by a killed process")
    with store.fetched(digest("a")) as path:
        assert make_store().sweep(time.time() + 60) == 2
        assert path.read_bytes() == b"content"
    store.require_writable()
    store.close()
    assert left_in(store.scratch()) == []

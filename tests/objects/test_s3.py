"""Objects in S3-compatible storage: checked on the way back, tried again, bounded in memory, and plain about what fails."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import obstore
import pytest

from pairmark.adapters.ledgers.objects import key_of
from pairmark.adapters.objects.copies import Copies
from pairmark.adapters.objects.opening import open_store, s3_place
from pairmark.adapters.objects.s3 import RENEW_SECONDS, SHA256, S3ObjectStore
from pairmark.adapters.objects.shared_secrets import SharedRowSecrets
from pairmark.app.errors import Unavailable
from pairmark.app.stored import Damaged
from pairmark.domain.errors import Malformed
from tests.ledgers.making import digest, left_in
from tests.objects.conftest import MIB, S3Server, free_port
from tests.objects.faults import proxy


def opened(url: str, folder: Path) -> S3ObjectStore:
    return S3ObjectStore(s3_place(url, retry_seconds=5), folder / "scratch", copies_limit=4 * MIB)


def test_bytes_that_changed_in_the_bucket_are_not_given_out(s3: S3Server, tmp_path: Path) -> None:
    store = opened(s3.store_url(), tmp_path)
    store.put_if_absent(digest("a"), b"content")
    kept = obstore.get(store.client, key_of(digest("a"))).attributes
    obstore.put(store.client, key_of(digest("a")), b"CONTENT", attributes=kept)
    with pytest.raises(Damaged), store.fetched(digest("a")):
        pass
    obstore.put(store.client, key_of(digest("b")), b"of somebody else, without a checksum")
    with pytest.raises(Damaged), store.fetched(digest("b")):
        pass
    assert [path for folder in left_in(store.scratch()) for path in (store.scratch() / folder).iterdir()] == []
    assert not store.verify(digest("a"))


def test_a_request_that_fails_is_tried_again_until_it_is_answered(s3: S3Server, tmp_path: Path) -> None:
    with proxy(s3.url) as (url, faults):
        store = opened(f"s3://{s3.bucket()}/p?endpoint={url}&region=us-east-1", tmp_path)
        faults.refuse, faults.drop = 2, 1
        assert store.put_if_absent(digest("a"), b"content") is True
        assert faults.seen == 5
        faults.refuse = 2
        with store.fetched(digest("a")) as path:
            assert path.read_bytes() == b"content"
        faults.refuse = 1000
        started = time.monotonic()
        with pytest.raises(Unavailable, match="status 503"):
            store.exists(digest("a"))
        assert time.monotonic() - started < 30


def test_a_store_that_is_away_is_said_to_be(s3: S3Server, tmp_path: Path) -> None:
    store = opened(f"s3://bucket?endpoint=http://127.0.0.1:{free_port()}&region=us-east-1", tmp_path)
    for use in (lambda: store.exists(digest("a")), lambda: store.put_if_absent(digest("a"), b"x"), store.require_writable, lambda: list(store.kept())):
        with pytest.raises(Unavailable, match="found: no answer") as refused:
            use()
        assert refused.value.code == "store-unavailable"


def test_a_bucket_that_is_not_there_is_named_as_the_reason(s3: S3Server, tmp_path: Path) -> None:
    store = opened(f"s3://no-such-bucket?endpoint={s3.url}&region=us-east-1", tmp_path)
    with pytest.raises(Unavailable, match=r"no such bucket.*PAIRMARK_STORE_URL"):
        store.require_writable()


def test_an_old_object_that_is_put_again_is_young_again(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(s3.store_url(), tmp_path)
    store.put_if_absent(digest("a"), b"content")
    before = next(iter(store.kept())).changed
    later = time.time() + RENEW_SECONDS + 60
    time.sleep(1.1)  # the server counts whole seconds
    monkeypatch.setattr("pairmark.adapters.objects.s3.time.time", lambda: later)
    assert store.put_if_absent(digest("a"), b"content") is False
    assert next(iter(store.kept())).changed > before


def test_everything_lies_below_the_prefix_with_its_checksum(s3: S3Server, tmp_path: Path) -> None:
    bucket = s3.bucket()
    store = opened(f"s3://{bucket}/deep/prefix/?endpoint={s3.url}&region=us-east-1", tmp_path)
    store.put_if_absent(digest("a"), b"content")
    listed = httpx.get(f"{s3.url}/{bucket}", trust_env=False).text
    assert f"<Key>deep/prefix/{key_of(digest('a'))}</Key>" in listed
    assert len(str(obstore.get(store.client, key_of(digest("a"))).attributes[SHA256])) == 64


def test_copies_are_kept_within_their_limit_and_fetched_once(tmp_path: Path) -> None:
    copies, fetched = Copies(tmp_path, 2500), []

    def read(name: str) -> bytes:
        def fetch(path: Path) -> None:
            fetched.append(name)
            path.write_bytes(name.encode() * 1000)

        with copies.of(digest(name), fetch) as path:
            return path.read_bytes()

    for name in "aabbaccb":
        assert read(name) == name.encode() * 1000
    assert fetched == ["a", "b", "c", "b"]
    (folder,) = tmp_path.iterdir()
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 2500
    with copies.of(digest("c"), lambda _: None) as held:
        for name in "xyz":
            read(name)
        assert held.exists()
    copies.close()
    assert left_in(tmp_path) == []


def test_servers_of_one_store_share_the_secret_of_a_ledgers_rows(s3: S3Server) -> None:
    place = s3_place(s3.store_url())
    one, other = SharedRowSecrets(place), SharedRowSecrets(place)
    secret = one.of(digest("a"))
    assert len(secret) == 32
    assert other.of(digest("a")) == secret
    assert other.of(digest("b")) != secret


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("s3://bucket", ("bucket", "", None, None, False)),
        ("s3://bucket/a/b/", ("bucket", "a/b", None, None, False)),
        ("s3://bucket/a?endpoint=http://127.0.0.1:9000&region=eu", ("bucket", "a", "http://127.0.0.1:9000", "eu", True)),
        ("s3://bucket?endpoint=https://s3.example&path_style=false", ("bucket", "", "https://s3.example", None, False)),
    ],
)
def test_a_url_says_where(url: str, expected: tuple[object, ...]) -> None:
    place = s3_place(url)
    assert (place.bucket, place.prefix, place.endpoint, place.region, place.path_style) == expected


def test_an_endpoint_of_the_settings_holds_where_the_url_names_none() -> None:
    assert s3_place("s3://bucket", endpoint="http://store:9000").endpoint == "http://store:9000"
    assert s3_place("s3://bucket?endpoint=http://other", endpoint="http://store:9000").endpoint == "http://other"


@pytest.mark.parametrize(
    "url",
    [
        "", "bucket", "gs://bucket", "s3://", "s3:///prefix", "s3://key:secret@bucket/p", "s3://bucket?secret=x", "s3://bucket?endpoint=ftp://x",
        "s3://bucket?path_style=yes", "s3://bucket#part", "file://host/folder", "file:relative", "file:///folder?x=1",
    ],
)  # fmt: skip
def test_what_is_no_store_is_refused_without_repeating_secrets(url: str, tmp_path: Path) -> None:
    with pytest.raises(Malformed) as refused:
        open_store(url, tmp_path)
    assert refused.value.code == "bad-store-url"
    assert "secret@" not in str(refused.value)


def test_a_file_url_names_a_folder(tmp_path: Path) -> None:
    store = open_store((tmp_path / "with space").as_uri(), tmp_path / "data")
    store.keep_object("sha256:" + "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", [])
    assert len(list((tmp_path / "with space" / "objects").rglob("*"))) == 2


MEMORY = """
import resource, sys
from pathlib import Path
from pairmark.adapters.objects.opening import s3_place
from pairmark.adapters.objects.s3 import S3ObjectStore
store = S3ObjectStore(s3_place(sys.argv[1]), Path(sys.argv[2]), copies_limit=0)
key, other = "sha256:" + "a" * 64, "sha256:" + "b" * 64
store.put_if_absent(other, b"x" * 100)
with store.fetched(other): pass
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
store.put_if_absent(key, Path(sys.argv[3]))
with store.fetched(key) as path:
    assert path.stat().st_size == int(sys.argv[4])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
def test_a_large_object_goes_through_a_small_memory(s3: S3Server, tmp_path: Path) -> None:
    file, size = tmp_path / "large", 100 * MIB
    with file.open("wb") as out:
        for _ in range(size // MIB):
            out.write(os.urandom(MIB))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, s3.store_url(), str(tmp_path / "scratch"), str(file), str(size)],
        capture_output=True, text=True, check=False, timeout=300, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 64, "MiB over what a small object takes"

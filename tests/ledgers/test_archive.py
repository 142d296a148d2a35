"""Packed bundles: what may be in them, what hostile ones may not do."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.ledgers.archive import unpack_bundle
from pairmark.adapters.ledgers.bundle import pack_bundle, read_bundle
from pairmark.adapters.ledgers.limits import DEFAULT_LIMITS, MIB, Limits
from pairmark.domain.errors import Malformed
from tests.ledgers.making import bundle, episodes, left_in

RUN = b'{"schema": "pairmark/run/v1"}'


def entry(name: str, content: bytes = b"", **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, content


def packed(*entries: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for info, content in entries:
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(out.getvalue())


def unpack(data: bytes, folder: Path, limits: Limits = DEFAULT_LIMITS) -> list[str]:
    archive = folder / "bundle.tar.gz"
    archive.write_bytes(data)
    target = folder / "target"
    target.mkdir(exist_ok=True)
    unpack_bundle(archive, target, file="bundle.tar.gz", limits=limits)
    return left_in(target)


GOOD = entry("run.json", RUN), entry("episodes.jsonl", b"{}\n")


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("folder", ["", "./", "run-1/", "./run-1/", "päth/", "x" * 150 + "/"])
def test_the_two_files_may_lie_in_one_folder(tmp_path: Path, form: int, folder: str) -> None:
    entries = [entry(folder, type=tarfile.DIRTYPE)] if folder else []
    entries += [entry(f"{folder}run.json", RUN), entry(f"{folder}episodes.jsonl", b"{}\n")]
    assert unpack(packed(*entries, form=form), tmp_path) == ["episodes.jsonl", "run.json"]
    assert (tmp_path / "target" / "run.json").read_bytes() == RUN


def test_contents_of_every_size_come_out_whole(tmp_path: Path) -> None:
    for size in (0, 1, 511, 512, 513, 300_000, 3 * MIB):
        content = os.urandom(size)
        folder = tmp_path / str(size)
        folder.mkdir()
        unpack(packed(entry("run.json", RUN), entry("episodes.parquet", content)), folder)
        assert (folder / "target" / "episodes.parquet").read_bytes() == content


HOSTILE: dict[str, Callable[[], bytes]] = {
    "path upwards": lambda: packed(entry("../run.json", RUN)),
    "path upwards inside": lambda: packed(entry("a/../../run.json", RUN)),
    "absolute path": lambda: packed(entry("/run.json", RUN)),
    "absolute folder": lambda: packed(entry("/tmp/run.json", RUN)),
    "backslashes": lambda: packed(entry("..\\run.json", RUN)),
    "two folders deep": lambda: packed(entry("a/b/run.json", RUN)),
    "two folders": lambda: packed(entry("a/run.json", RUN), entry("b/episodes.jsonl", b"")),
    "inside and outside a folder": lambda: packed(entry("a/run.json", RUN), entry("episodes.jsonl", b"")),
    "other file": lambda: packed(*GOOD, entry("notes.txt", b"x")),
    "hidden copy": lambda: packed(*GOOD, entry("._run.json", b"x")),
    "empty name": lambda: packed(entry("", RUN)),
    "symbolic link": lambda: packed(entry("run.json", type=tarfile.SYMTYPE, linkname="/etc/passwd")),
    "hard link": lambda: packed(entry("run.json", type=tarfile.LNKTYPE, linkname="episodes.jsonl")),
    "character device": lambda: packed(entry("run.json", type=tarfile.CHRTYPE)),
    "block device": lambda: packed(entry("run.json", type=tarfile.BLKTYPE)),
    "pipe": lambda: packed(entry("run.json", type=tarfile.FIFOTYPE)),
    "sparse file": lambda: packed(entry("run.json", RUN, type=tarfile.GNUTYPE_SPARSE)),
    "sparse file in records": lambda: packed(entry("run.json", RUN, pax_headers={"GNU.sparse.size": "9"})),
    "link by record": lambda: packed(entry("run.json", type=tarfile.SYMTYPE, linkname="x" * 200)),
    "records of a megabyte": lambda: packed(entry("run.json", RUN, pax_headers={"comment": "x" * MIB})),
    "record with a bad size": lambda: packed(entry("run.json", RUN, pax_headers={"size": "-5"})),
    "folder with content": lambda: packed(entry("run.json", RUN, type=tarfile.DIRTYPE)),
    "not UTF-8": lambda: packed(entry("run\udcff.json", RUN), form=tarfile.GNU_FORMAT),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_anything_else_is_refused_and_nothing_is_written_elsewhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(Malformed) as caught:
        unpack(HOSTILE[name](), tmp_path)
    assert caught.value.code == "bad-archive"
    assert caught.value.file == "bundle.tar.gz"
    assert {path.split("/")[0] for path in left_in(tmp_path)} == {"bundle.tar.gz", "target"}


def test_a_member_given_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Malformed, match="duplicate-member"):
        unpack(packed(*GOOD, entry("run.json", b"other")), tmp_path)
    with pytest.raises(Malformed, match="duplicate-member"):
        unpack(packed(*GOOD, entry("./run.json", b"other")), tmp_path)


def test_an_archive_that_ends_early_or_late_is_refused(tmp_path: Path) -> None:
    tar = gzip.decompress(packed(*GOOD))
    for end in (0, 100, 512, 520, 1024, 1536, 2048):
        folder = tmp_path / str(end)
        folder.mkdir()
        with pytest.raises(Malformed) as caught:
            unpack(gzip.compress(tar[:end]), folder)
        assert caught.value.code == "truncated"
    late = tmp_path / "late"
    late.mkdir()
    with pytest.raises(Malformed, match="trailing-data"):
        unpack(gzip.compress(tar + b"more"), late)


def test_a_checksum_that_does_not_hold_is_refused(tmp_path: Path) -> None:
    tar = bytearray(gzip.decompress(packed(*GOOD)))
    tar[0] ^= 1
    with pytest.raises(Malformed, match="checksum"):
        unpack(gzip.compress(tar), tmp_path)


def test_limits_on_size_and_number(tmp_path: Path) -> None:
    bomb = packed(entry("run.json", RUN), entry("episodes.jsonl", bytes(40 * MIB)))
    assert len(bomb) < MIB
    with pytest.raises(Malformed) as caught:
        unpack(bomb, tmp_path, Limits(archive=10 * MIB))
    assert (caught.value.code, "`archive`" in caught.value.message) == ("too-large", True)
    second = tmp_path / "second"
    second.mkdir()
    with pytest.raises(Malformed, match="`document`"):
        unpack(packed(entry("run.json", bytes(2 * MIB))), second, Limits(document=MIB))
    third = tmp_path / "third"
    third.mkdir()
    with pytest.raises(Malformed, match="`members`"):
        unpack(packed(*(entry(f"d{number}", type=tarfile.DIRTYPE) for number in range(500))), third)


def test_a_declared_size_of_exabytes_is_refused(tmp_path: Path) -> None:
    info, _ = entry("run.json")
    info.size = 2**62
    header = info.tobuf(tarfile.GNU_FORMAT)
    with pytest.raises(Malformed, match="`archive`"):
        unpack(gzip.compress(header + RUN), tmp_path)


def test_a_packed_bundle_is_read_like_its_directory(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "run", episodes(200))
    pack_bundle(folder, tmp_path / "run.tar.gz")
    loose, tight = read_bundle(folder, "attacked"), read_bundle(tmp_path / "run.tar.gz", "attacked")
    assert loose.ledger.equals(tight.ledger)
    assert (loose.run_digest, loose.ledger_digest, loose.role) == (tight.run_digest, tight.ledger_digest, tight.role)


def test_packing_is_deterministic(tmp_path: Path) -> None:
    folder = bundle(tmp_path / "run", episodes(20))
    pack_bundle(folder, tmp_path / "a.tar.gz")
    os.utime(folder / "run.json", (1, 1))
    (folder / "run.json").chmod(0o600)
    pack_bundle(folder, tmp_path / "b.tgz")
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tgz").read_bytes()
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        assert tar.getnames() == ["run.json", "episodes.jsonl"]
    with pytest.raises(FileExistsError):
        pack_bundle(folder, tmp_path / "a.tar.gz")

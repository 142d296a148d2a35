"""Seeded mutations of valid bundles: each is read or refused with one clear error, and nothing is left behind.

PAIRMARK_FUZZ multiplies the number of mutations (default 1: about 3,000), PAIRMARK_FUZZ_SEED changes them.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

from pairmark.adapters.ledgers.bundle import pack_bundle, read_bundle
from pairmark.adapters.ledgers.ingest import LEDGER_FILES, ingest_ledger
from pairmark.adapters.ledgers.limits import MIB, Limits
from pairmark.domain.episodes import EPISODE_SCHEMA, frame_of
from pairmark.domain.errors import Malformed
from tests.ledgers.making import bundle, episodes, left_in, lines

TIMES = int(os.environ.get("PAIRMARK_FUZZ", "1"))
SEED = int(os.environ.get("PAIRMARK_FUZZ_SEED", "20261130"))
LIMITS = Limits(document=MIB, ledger=8 * MIB, archive=16 * MIB)
ODD: list[Any] = [None, True, 0, -1, 1.5, 2**53, 10**400, "", "x", "\ud800", "a\u0000", [], {}, [[]], {"a": None}, "sha256:" + "0" * 64, "completed"]


def as_parquet(rows: list[dict[str, Any]], **options: Any) -> bytes:
    out = io.BytesIO()
    pl.DataFrame([{key: row.get(key) for key in EPISODE_SCHEMA} for row in rows], schema=EPISODE_SCHEMA).cast(
        {"status": pl.String}
    ).write_parquet(out, **options)
    return out.getvalue()


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a valid bundle: the run document and its ledger in every format."""
    rows = episodes(60)
    folder = bundle(tmp_path_factory.mktemp("valid") / "run", rows)
    pack_bundle(folder, folder.parent / "run.tar.gz")
    data = lines(rows)
    return {
        "run.json": (folder / "run.json").read_bytes(),
        "episodes.jsonl": data,
        "episodes.jsonl.gz": gzip.compress(data, mtime=0),
        "episodes.jsonl.zst": zstandard.compress(data),
        "episodes.parquet": as_parquet(rows, compression="zstd"),
        "plain.parquet": as_parquet(rows, compression="uncompressed"),
        "run.tar.gz": (folder.parent / "run.tar.gz").read_bytes(),
    }


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, so that what stays is seen."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def bytes_changed(data: bytes, rng: random.Random) -> bytes:
    """One to three changes of bytes, anywhere."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(out) + 1)
        size = rng.choice([1, 1, 2, 8, 100, 1000])
        change = rng.randrange(8)
        if change == 0:
            out[at : at + 1] = bytes([rng.randrange(256)])
        elif change == 1 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif change == 2:
            del out[at : at + size]
        elif change == 3:
            out[at:at] = out[at : at + size]
        elif change == 4:
            out[at:at] = rng.randbytes(size)
        elif change == 5:
            del out[at:]
        elif change == 6:
            out[at : at + size] = bytes(size)
        else:
            other = rng.randrange(len(out) + 1)
            out[at : at + size], out[other : other + size] = out[other : other + size], out[at : at + size]
    return bytes(out)


def tokens_changed(data: bytes, rng: random.Random) -> bytes:
    """A piece of JSON put where it does not belong."""
    token = rng.choice([b"null", b"NaN", b"1e999", b"[", b"]", b"{", b"}", b",", b":", b'"', b"\\", b"\n", b"\r", b"\xff", b"\xef\xbb\xbf", b"-", b"0", b'"epoch":1,', b"//", b"[" * 500, b"\\u", b"\\ud83d"])
    at = rng.randrange(len(data) + 1)
    return data[:at] + token + data[at + rng.choice([0, 0, 1, len(token)]) :]


def value_changed(value: Any, rng: random.Random) -> Any:
    """The JSON value with one part replaced, removed or added."""
    places: list[tuple[Any, Any]] = []

    def walk(item: Any) -> None:
        for key in list(item) if isinstance(item, dict) else range(len(item)):
            places.append((item, key))
            if isinstance(item[key], dict | list):
                walk(item[key])

    value = json.loads(json.dumps(value))
    walk(value)
    inside, key = rng.choice(places)
    change = rng.randrange(4)
    if change == 0:
        del inside[key]
    elif change == 1 and isinstance(inside, dict):
        inside[rng.choice(["x", "", "epoch", "\u0000"])] = rng.choice(ODD)
    elif change == 2 and isinstance(inside, list):
        inside.append(inside[key])
    else:
        inside[key] = rng.choice(ODD)
    return value


def run_changed(data: bytes, rng: random.Random) -> bytes:
    return json.dumps(value_changed(json.loads(data), rng)).encode()


def lines_changed(data: bytes, rng: random.Random) -> bytes:
    """Lines swapped, repeated, dropped, joined, emptied, or one value changed."""
    found = data.splitlines(keepends=True)
    at, other = rng.randrange(len(found)), rng.randrange(len(found))
    change = rng.randrange(7)
    if change == 0:
        found[at], found[other] = found[other], found[at]
    elif change == 1:
        found.insert(at, found[other])
    elif change == 2:
        del found[at]
    elif change == 3:
        found[at] = found[at].rstrip(b"\n")
    elif change == 4:
        found.insert(at, b"\n")
    else:
        found[at] = json.dumps(value_changed(json.loads(found[at]), rng)).encode() + b"\n"
    return b"".join(found)


def repacked(change: Callable[[bytes, random.Random], bytes]) -> Callable[[bytes, random.Random], bytes]:
    """The change made inside the gzip stream."""
    return lambda data, rng: gzip.compress(change(gzip.decompress(data), rng), mtime=0)


def header_changed(data: bytes, rng: random.Random) -> bytes:
    """One field of a tar header changed, its checksum made to hold again."""
    out = bytearray(data)
    starts = [at for at in range(0, len(out), 512) if out[at + 257 : at + 262] == b"ustar"]
    start = rng.choice(starts)
    field, size = rng.choice([(0, 100), (100, 8), (124, 12), (124, 12), (156, 1), (156, 1), (157, 100), (257, 8), (345, 155)])
    text = rng.choice([rng.randbytes(size), rng.choice([b"../x", b"/x", b"run.json", b"7777777", b"77777777777", b"x", b"g", b"L", b"K", b"2", b"5", b"\xff" * 12])])
    out[start + field : start + field + size] = text[:size].ljust(size, b"\0")
    out[start + 148 : start + 156] = b"%06o\0 " % (sum(out[start : start + 148]) + 256 + sum(out[start + 156 : start + 512]))
    return bytes(out)


def with_extra_member(data: bytes, rng: random.Random) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(data)) as old, tarfile.open(fileobj=out, mode="w", format=rng.choice([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])) as new:
        for member in old:
            new.addfile(member, old.extractfile(member))
        extra = tarfile.TarInfo(rng.choice(["run.json", "episodes.parquet", "a/b", "../c", "/d", "._run.json", "e" * 300]))
        extra.type, extra.linkname = rng.choice([b"0", b"1", b"2", b"3", b"4", b"5", b"6"]), "run.json"
        extra.size = rng.choice([0, 0, 5]) if extra.type == b"0" else 0
        new.addfile(extra, io.BytesIO(b"hello"[: extra.size]))
    return out.getvalue()


KINDS: dict[str, tuple[str, Callable[[bytes, random.Random], bytes], int]] = {
    "run document, bytes": ("run.json", bytes_changed, 250),
    "run document, tokens": ("run.json", tokens_changed, 150),
    "run document, values": ("run.json", run_changed, 300),
    "lines, bytes": ("episodes.jsonl", bytes_changed, 400),
    "lines, tokens": ("episodes.jsonl", tokens_changed, 300),
    "lines, values": ("episodes.jsonl", lines_changed, 400),
    "gzip, bytes": ("episodes.jsonl.gz", bytes_changed, 200),
    "zstd, bytes": ("episodes.jsonl.zst", bytes_changed, 200),
    "Parquet, bytes": ("episodes.parquet", bytes_changed, 250),
    "plain Parquet, bytes": ("plain.parquet", bytes_changed, 250),
    "archive, bytes": ("run.tar.gz", bytes_changed, 150),
    "archive, bytes inside": ("run.tar.gz", repacked(bytes_changed), 200),
    "archive, headers": ("run.tar.gz", repacked(header_changed), 200),
    "archive, members": ("run.tar.gz", repacked(with_extra_member), 60),
}


def clear(problem: Malformed, path: Path) -> str:
    """The code of an error that says where it is and what was expected, in one line."""
    assert problem.code
    assert problem.file is not None
    assert problem.file.startswith(str(path))
    assert "expected" in problem.message
    assert str(problem).isprintable()
    return problem.code


@pytest.mark.parametrize("kind", KINDS)
def test_a_mutated_bundle_is_read_or_refused(kind: str, parts: dict[str, bytes], tmp_path: Path, scratch: Path) -> None:
    name, change, count = KINDS[kind]
    rng = random.Random(f"{SEED} {kind}")
    target = tmp_path / "bundle"
    codes: dict[str, int] = {}
    for number in range(count * TIMES):
        data = change(parts[name], rng)
        if name == "run.tar.gz":
            path = tmp_path / "run.tar.gz"
            path.write_bytes(data)
        else:
            ledger = name if name in LEDGER_FILES else "episodes.jsonl" if name == "run.json" else "episodes.parquet"
            target.mkdir(exist_ok=True)
            (target / "run.json").write_bytes(data if name == "run.json" else parts["run.json"])
            (target / ledger).write_bytes(data if name != "run.json" else parts["episodes.jsonl"])
            path = target
        problem: Malformed | None = None
        try:
            arm = read_bundle(path, "attacked", limits=LIMITS)
        except Malformed as raised:
            problem = raised
        else:
            assert arm.ledger.height == 60, number
        code = "read" if problem is None else clear(problem, path)
        codes[code] = codes.get(code, 0) + 1
        assert left_in(scratch) == [], number
    assert len(codes) > 1, codes


@pytest.mark.parametrize("name", [*LEDGER_FILES, "plain.parquet"])
def test_a_mutated_upload_gives_one_object_or_nothing(name: str, parts: dict[str, bytes], tmp_path: Path) -> None:
    """What the service takes in: in canonical order or refused; on refusal not a file stays."""
    rng = random.Random(f"{SEED} upload {name}")
    form = LEDGER_FILES.get(name, LEDGER_FILES["episodes.parquet"])
    ordered = [*frame_of(episodes(60)).iter_rows(named=True)]
    valid = {
        "episodes.jsonl": lines(ordered), "episodes.jsonl.gz": gzip.compress(lines(ordered)),
        "episodes.jsonl.zst": zstandard.compress(lines(ordered)), "episodes.parquet": as_parquet(ordered),
        "plain.parquet": as_parquet(ordered, compression="uncompressed"),
    }[name]  # fmt: skip
    for number in range(100 * TIMES):
        data = bytes_changed(valid, rng) if number else valid
        try:
            made = ingest_ledger([data], form, tmp_path, require_order=True, limits=LIMITS)
        except Malformed as raised:
            message = raised.message
        else:
            message = "expected and found"
            made.path.unlink()
        assert "expected" in message
        assert number > 0 or message == "expected and found"
        assert left_in(tmp_path) == [], number

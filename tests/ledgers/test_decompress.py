"""Compressed streams: whole, nothing behind the end, bounded however they are built."""

from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib

import pytest
import zstandard

from pairmark.adapters.ledgers.decompress import Encoding, decompressor
from pairmark.adapters.ledgers.limits import GIB, MIB
from pairmark.domain.errors import Malformed

PLAIN = b"".join(b'{"line": %d}\n' % number for number in range(50_000))


def packed(encoding: Encoding, data: bytes = PLAIN) -> bytes:
    return gzip.compress(data, mtime=0) if encoding == "gzip" else zstandard.compress(data)


def unpack(data: bytes, encoding: Encoding, *, limit: int = GIB, chunk: int = 4096) -> bytes:
    reader = decompressor(encoding, "ledger", limit, "f")
    out = b"".join(part for at in range(0, len(data), chunk) for part in reader.feed(data[at : at + chunk]))
    reader.finish()
    return out


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("chunk", [1, 7, 4096, 10**9])
def test_whole_streams_are_read_whatever_the_chunks(encoding: Encoding, chunk: int) -> None:
    assert unpack(packed(encoding), encoding, chunk=chunk) == PLAIN


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_several_members_are_one_stream(encoding: Encoding) -> None:
    data = packed(encoding, b"one\n") + packed(encoding, b"") + packed(encoding, b"two\n")
    for chunk in (1, 5, 1000):
        assert unpack(data, encoding, chunk=chunk) == b"one\ntwo\n"


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_stream_cut_anywhere_is_refused(encoding: Encoding) -> None:
    data = packed(encoding)
    for end in [0, 1, 5, 17, len(data) // 2, len(data) - 9, *range(len(data) - 8, len(data))]:
        with pytest.raises(Malformed) as caught:
            unpack(data[:end], encoding)
        assert caught.value.code == "truncated", end


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("tail", [b"\x00", b"\n", b"garbage" * 10, b"\x1f", b"\x28\xb5"])
def test_bytes_behind_the_end_are_refused(encoding: Encoding, tail: bytes) -> None:
    for chunk in (1, 4096, 10**9):
        with pytest.raises(Malformed) as caught:
            unpack(packed(encoding) + tail, encoding, chunk=chunk)
        assert caught.value.code in ("trailing-data", "truncated")


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_other_bytes_are_refused(encoding: Encoding) -> None:
    with pytest.raises(Malformed, match="bad-compression"):
        unpack(PLAIN, encoding)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_every_flipped_byte_is_refused_or_harmless(encoding: Encoding) -> None:
    rng = random.Random(2)
    small = PLAIN[:20_000]
    data = zstandard.ZstdCompressor(write_checksum=True).compress(small) if encoding == "zstd" else packed(encoding, small)
    for _ in range(1500):
        at = rng.randrange(len(data))
        bad = bytearray(data)
        bad[at] ^= 1 << rng.randrange(8)
        try:
            found: bytes | str = unpack(bytes(bad), encoding, limit=MIB)  # a change of the header's time or flags is harmless
        except Malformed as problem:
            found = problem.code
        assert found in (small, "truncated", "trailing-data", "bad-compression", "too-large")


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_stopped_at_the_limit_and_memory_stays_small(encoding: Encoding) -> None:
    size = 512 * MIB
    if encoding == "gzip":
        packing = zlib.compressobj(9, wbits=31)
        bomb = b"".join(packing.compress(bytes(MIB)) for _ in range(size // MIB)) + packing.flush()
    else:
        writer = zstandard.ZstdCompressor(level=3).compressobj()
        bomb = b"".join(writer.compress(bytes(MIB)) for _ in range(size // MIB)) + writer.flush()
    assert len(bomb) < MIB
    reader = decompressor(encoding, "ledger", 100 * MIB, "bomb")
    tracemalloc.start()
    try:
        with pytest.raises(Malformed) as caught:
            for _ in reader.feed(bomb):
                pass
        assert tracemalloc.get_traced_memory()[1] < 80 * MIB
    finally:
        tracemalloc.stop()
    assert caught.value.code == "too-large"
    assert str(100 * MIB) in caught.value.message
    assert "`ledger`" in caught.value.message


def test_a_zstd_window_beyond_the_usual_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=29, enable_ldm=True)
    writer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    data = writer.compress(PLAIN) + writer.flush()
    with pytest.raises(Malformed, match="bad-compression"):
        unpack(data, "zstd")

"""The high-water mark beside the keys: appended to, never behind what was signed, and refused where it is damaged."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from pairmark.adapters.log.mark import MARK_FILE, MAX_BYTES, HighWaterMark
from pairmark.app.errors import Unavailable
from pairmark.app.log_records import LogHead


def head(size: int) -> LogHead:
    return LogHead(size, hashlib.sha256(str(size).encode()).digest())


@pytest.fixture
def mark(tmp_path: Path) -> HighWaterMark:
    return HighWaterMark(tmp_path, "log.example")


def test_the_last_head_counts_and_there_is_none_at_first(mark: HighWaterMark) -> None:
    assert mark.read() is None
    for size in (1, 2, 30):
        mark.advance(head(size))
        assert mark.read() == head(size)
    assert mark.path.stat().st_mode & 0o777 == 0o600
    assert len(mark.path.read_bytes().splitlines()) == 3


def test_a_long_file_is_written_anew_with_one_line(mark: HighWaterMark) -> None:
    mark.advance(head(0))
    for size in range(1, MAX_BYTES // len(mark.path.read_bytes()) + 3):
        mark.advance(head(size))
        assert mark.read() == head(size)
        assert mark.path.stat().st_size < MAX_BYTES + 1000
    assert len(mark.path.read_bytes().splitlines()) < 100


def test_a_line_that_a_crash_left_unfinished_was_of_a_head_that_nobody_signed(mark: HighWaterMark) -> None:
    mark.advance(head(1))
    before = mark.path.read_bytes()
    mark.advance(head(2))
    whole = mark.path.read_bytes()
    for length in range(len(before), len(whole)):
        for tail in (whole[len(before) : length], b"\0" * (length - len(before))):
            mark.path.write_bytes(before + tail)
            assert mark.read() == head(1)
            mark.advance(head(3))
            assert mark.read() == head(3)


def test_whatever_is_changed_in_the_last_whole_line_stops_the_signer(mark: HighWaterMark) -> None:
    mark.advance(head(1))
    mark.advance(head(2))
    whole = mark.path.read_bytes()
    start = whole.index(b"\n") + 1
    for place in range(start, len(whole) - 1):
        mark.path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x80]) + whole[place + 1 :])
        with pytest.raises(Unavailable, match="mark-unreadable"):
            mark.read()
    for damaged in (b"", b"\n", whole[:start] + b"\n", b"{}\n", whole + b"null\n", whole[:20]):
        mark.path.write_bytes(damaged)
        with pytest.raises(Unavailable, match="mark-unreadable"):
            mark.read()


def test_the_mark_of_another_log_is_refused(mark: HighWaterMark, tmp_path: Path) -> None:
    mark.advance(head(1))
    with pytest.raises(Unavailable, match="instead of"):
        HighWaterMark(tmp_path, "other.example").read()


def test_a_mark_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / MARK_FILE).mkdir()
    with pytest.raises(Unavailable, match="mark-not-written"):
        HighWaterMark(tmp_path, "log.example").advance(head(1))

"""`kill -9` at any moment: every receipt that was handed out still verifies, and the log is whole."""

from __future__ import annotations

import multiprocessing
import random
import shutil
import time
from itertools import pairwise
from pathlib import Path

import pytest

from pairmark.app.log_read import consistency
from pairmark.provenance.merkle import verify_consistency
from tests.log.filling import LoggingService
from tests.log.writing import write_until_killed


def receipts_in(path: Path) -> list[tuple[int, bytes, bytes]]:
    """What was handed out; a line that the kill cut off was not."""
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]
    found = [line.decode().split(" ") for line in lines]
    return [(int(index), bytes.fromhex(entry), bytes.fromhex(receipt)) for index, entry, receipt in found]


def whole(folder: Path, handed_out: Path) -> int:
    """Start again as the service does, check everything, and say how many receipts there are."""
    log = LoggingService.at(folder)
    try:
        receipts = receipts_in(handed_out)
        assert all(log.holds(entry, receipt) for _, entry, receipt in receipts)
        assert len({index for index, _, _ in receipts}) == len(receipts)
        with log.database.reading() as tables:
            for index, entry, _ in receipts:
                record = tables.log.of_index(index)
                assert record is not None
                assert record.entry == entry
            heads = [log.head_of(one.note) for one in tables.log.checkpoints()]
            for old, new in pairwise(heads):
                proof = consistency(tables, old.size, new.size)
                assert verify_consistency(old.size, new.size, proof.path, old.root, new.root)
        assert log.checkpoints()[-1].size == log.size()
        assert log.faults() == []
        return len(receipts)
    finally:
        log.database.close()


def killed(rounds: int, folder: Path, seed: int) -> int:
    """Write and kill `rounds` times, each fifth time from an empty folder; how many receipts were handed out."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.log.writing"])
    chance, receipts = random.Random(seed), 0
    data, handed_out = folder / "data", folder / "receipts"
    for number in range(rounds):
        if number % 5 == 0:
            receipts += whole(data, handed_out) if data.exists() else 0
            shutil.rmtree(data, ignore_errors=True)
            handed_out.unlink(missing_ok=True)
        writer = context.Process(target=write_until_killed, args=(str(data), str(handed_out)))
        writer.start()
        time.sleep(chance.uniform(0.0, 1.2))
        writer.kill()
        writer.join(30)
        if data.exists() and number % 5 != 4:
            whole(data, handed_out)
    return receipts + (whole(data, handed_out) if data.exists() else 0)


def test_killed_ten_times_nothing_that_was_handed_out_is_lost(tmp_path: Path) -> None:
    assert killed(10, tmp_path, seed=4) > 0


@pytest.mark.slow
def test_killed_two_hundred_times_nothing_that_was_handed_out_is_lost(tmp_path: Path) -> None:
    assert killed(200, tmp_path, seed=2026) > 100

"""Publishing: what was signed is never contradicted, whoever comes at once, and whatever copy of the database is restored."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path

import pytest

from pairmark.adapters.log.mark import MARK_FILE, HighWaterMark
from pairmark.app.errors import Unavailable
from pairmark.app.log_read import consistency
from pairmark.domain.canonical import digest_of_bytes
from pairmark.provenance.merkle import verify_consistency
from tests.databases import copy_of, restore
from tests.log.filling import LoggingService, appended


def restored(log: LoggingService, copy: str) -> None:
    """Put an older copy in place while nobody is connected."""
    log.database.close()
    restore(log.folder, copy)


def consistent(log: LoggingService) -> None:
    """Every checkpoint extends every smaller one."""
    heads = [log.head_of(one.note) for one in log.checkpoints()]
    with log.database.reading() as tables:
        for old, new in pairwise(heads):
            proof = consistency(tables, old.size, new.size)
            assert verify_consistency(old.size, new.size, proof.path, old.root, new.root)


def test_many_writers_get_gapless_indices_and_receipts_that_hold(log: LoggingService) -> None:
    first, each, crowd = log.size(), 12, 8
    found: list[tuple[int, bytes, bytes]] = []
    lock = threading.Lock()

    def write() -> None:
        for _ in range(each):
            entry, index = log.announce()
            receipt = log.receipt(index)
            with lock:
                found.append((index, entry, receipt))

    threads = [threading.Thread(target=write) for _ in range(crowd)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(index for index, _, _ in found) == list(range(first, first + each * crowd))
    assert all(log.holds(entry, receipt) for _, entry, receipt in found)
    assert log.faults() == []
    consistent(log)


def test_two_processes_worth_of_publishers_agree(log: LoggingService) -> None:
    other = LoggingService.at(log.folder)
    for number in range(6):
        (log if number % 2 else other).announce()
    assert log.faults() == []
    consistent(log)


def test_publishing_twice_signs_once(log: LoggingService) -> None:
    log.announce()
    before = log.checkpoints()
    assert log.publisher.publish() == before[-1]
    assert log.publisher.recover() == before[-1]
    assert log.checkpoints() == before


def test_an_entry_that_was_not_published_is_so_after_the_next_start(log: LoggingService) -> None:
    log.database.after_logging = None  # as if killed between the two transactions
    log.announce()
    assert log.checkpoints()[-1].size < log.size()
    again = LoggingService.at(log.folder)
    assert again.checkpoints()[-1].size == again.size()
    assert again.faults() == []


def test_killed_between_mark_and_checkpoint_the_same_head_is_signed(log: LoggingService) -> None:
    log.database.after_logging = None
    log.announce()
    copy = copy_of(log.folder, log.folder / "between.db")
    signed = log.publisher.publish()
    restored(log, copy)
    again = LoggingService.at(log.folder)
    assert signed == again.checkpoints()[-1]


def test_an_older_copy_is_refused_and_why(log: LoggingService) -> None:
    log.announce()
    copy = copy_of(log.folder, log.folder / "older.db")
    log.announce()
    restored(log, copy)
    with pytest.raises(Unavailable, match=r"expected a log of at least 3 entries .*high-water-mark\.json.*, found 2") as refused:
        LoggingService.at(log.folder)
    assert refused.value.code == "log-forked"
    assert refused.value.remedy is not None
    assert "restore the newest copy" in refused.value.remedy


def test_an_older_copy_that_grew_again_is_refused_too(log: LoggingService) -> None:
    log.announce()
    copy = copy_of(log.folder, log.folder / "older.db")
    log.announce()
    restored(log, copy)
    log.database.before_logging = log.database.after_logging = None  # as by somebody who goes around the service
    log.database.write(lambda tables: [appended(tables, number) for number in range(3)])
    with pytest.raises(Unavailable, match="found other entries among them"):
        LoggingService.at(log.folder)
    with pytest.raises(Unavailable, match="found other entries among them"):
        log.publisher.publish()


def test_while_a_service_runs_an_exchanged_database_gets_no_signature(log: LoggingService) -> None:
    log.announce()
    copy = copy_of(log.folder, log.folder / "older.db")
    log.announce()
    restored(log, copy)
    signed, size = log.checkpoints(), log.size()
    for _ in range(2):
        with pytest.raises(Unavailable, match="expected the log to extend"):
            log.announce()
    assert (log.checkpoints(), log.size()) == (signed, size)  # a refused request left nothing


def test_what_was_stored_and_could_not_be_published_is_said_and_published_before_anything_else(
    log: LoggingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.announce()
    first, real = log.size(), HighWaterMark.advance

    def full(*_: object) -> None:
        raise Unavailable("mark-not-written", "expected to write the high-water mark, found: No space left on device")

    monkeypatch.setattr(HighWaterMark, "advance", full)
    with pytest.raises(Unavailable, match=r"expected to publish what is stored already: .*No space left"):
        log.announce()
    assert (log.size(), log.checkpoints()[-1].size) == (first + 1, first)
    with pytest.raises(Unavailable, match="high-water mark"):
        log.database.write(lambda tables: tables.documents.put(digest_of_bytes(b"x"), b"x"))
    with log.database.reading() as tables:
        assert tables.documents.get(digest_of_bytes(b"x")) is None
    monkeypatch.setattr(HighWaterMark, "advance", real)
    log.database.write(lambda tables: tables.documents.put(digest_of_bytes(b"x"), b"x"))
    assert log.checkpoints()[-1].size == log.size() == first + 1
    assert log.faults() == []


def test_a_lost_mark_is_not_taken_for_a_new_log(log: LoggingService) -> None:
    log.announce()
    (log.folder / "keys" / MARK_FILE).unlink()
    with pytest.raises(Unavailable, match="found none although 2 entries were signed"):
        LoggingService.at(log.folder)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"origin":"x","root":"","schema":"pairmark/high-water-mark/v1","size":1}\n'])
def test_a_damaged_mark_stops_the_signer(log: LoggingService, content: bytes) -> None:
    (log.folder / "keys" / MARK_FILE).write_bytes(content)
    with pytest.raises(Unavailable, match="expected the high-water mark"):
        LoggingService.at(log.folder)


def test_the_mark_of_another_log_stops_the_signer(log: LoggingService) -> None:
    mark = log.folder / "keys" / MARK_FILE
    mark.write_bytes(mark.read_bytes().replace(b"log.example", b"log.another"))
    with pytest.raises(Unavailable, match=r"of the log 'log\.another/pairmark'"):
        LoggingService.at(log.folder)


def test_the_mark_is_there_before_the_checkpoint_can_be_read(log: LoggingService, monkeypatch: pytest.MonkeyPatch) -> None:
    from pairmark.adapters.log import publisher as publishing

    log.database.after_logging = None
    log.announce()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(publishing, "_keep", killed)
    with pytest.raises(KeyboardInterrupt):
        log.publisher.publish()
    mark = HighWaterMark(log.folder / "keys", log.signing.origin).read()
    assert mark is not None
    assert mark.size == log.size() > log.checkpoints()[-1].size


def test_keys_are_made_for_an_empty_log_only(tmp_path: Path) -> None:
    from pairmark.adapters.log.signing import open_keys

    with pytest.raises(Unavailable, match="expected the keys of this log"):
        open_keys(tmp_path / "keys", may_make=lambda: False)
    opened = open_keys(tmp_path / "keys", may_make=lambda: True)
    assert opened.made
    assert not open_keys(tmp_path / "keys", may_make=lambda: False).made
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "keys").glob("*.pem")} == {0o600}
    assert [path.name for path in tmp_path.iterdir()] == ["keys"]

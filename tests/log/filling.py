"""A real log on a real database, filled without judging anything: announcements, and releases of a pair judged once."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pairmark.adapters.log.fsck import check_log
from pairmark.adapters.log.mark import HighWaterMark
from pairmark.adapters.log.publisher import Publisher
from pairmark.adapters.log.signing import KeySigning, open_keys
from pairmark.adapters.sql.database import SqlDatabase
from pairmark.adapters.sql.migrate import upgrade
from pairmark.app.log_read import receipt_of
from pairmark.app.log_records import StoredCheckpoint
from pairmark.app.log_writes import log_trust_roots
from pairmark.app.ports import Tables
from pairmark.domain.canonical import digest_of_bytes
from pairmark.provenance.checkpoint import Checkpoint, open_checkpoint, parse_receipt
from pairmark.provenance.entries import Announcement, entry_bytes
from pairmark.provenance.merkle import leaf_hash
from tests.databases import url_of

DIGEST = digest_of_bytes(b"anything")


@dataclass(frozen=True)
class LoggingService:
    """The parts of a service that write the log."""

    folder: Path
    database: SqlDatabase
    signing: KeySigning
    publisher: Publisher

    @classmethod
    def at(cls, folder: Path, url: str | None = None) -> LoggingService:
        """Start: migrate, open or make keys, recover, as the service does; by default on the kind of database that is being tested."""
        folder.mkdir(parents=True, exist_ok=True)
        url = url_of(folder) if url is None else url
        upgrade(url)
        database = SqlDatabase.at(url)
        opened = open_keys(folder / "keys", may_make=lambda: True, origin="log.example/pairmark")
        publisher = Publisher(database, opened.signing, HighWaterMark(folder / "keys", opened.signing.origin))
        publisher.recover()
        log_trust_roots(database, opened.signing.chain, datetime.now(UTC))
        publisher.publish()
        database.before_logging, database.after_logging = publisher.require_publishable, publisher.publish
        return cls(folder, database, opened.signing, publisher)

    def announce(self) -> tuple[bytes, int]:
        """Log an announcement, published on return; its entry and index."""
        run = f"run-{secrets.token_hex(16)}"
        body = Announcement(
            run=run, document=DIGEST, suite=DIGEST, system=DIGEST, arm="benign", after_the_fact=False, at=datetime.now(UTC).isoformat()
        )
        entry = entry_bytes(body)
        return entry, self.database.write(lambda tables: tables.log.append(entry, None, (run,)))

    def receipt(self, index: int) -> bytes:
        with self.database.reading() as tables:
            return receipt_of(tables, index)

    def holds(self, entry: bytes, receipt: bytes) -> bool:
        """Whether a receipt shows the entry under a signed head."""
        read = parse_receipt(receipt)
        return read.leads_to(leaf_hash(entry), self.head_of(read.checkpoint))

    def head_of(self, note: bytes) -> Checkpoint:
        return open_checkpoint(note, self.signing.origin, self.signing.log_keys())

    def checkpoints(self) -> tuple[StoredCheckpoint, ...]:
        with self.database.reading() as tables:
            return tables.log.checkpoints()

    def faults(self) -> list[str]:
        return list(check_log(self.database, self.signing, HighWaterMark(self.folder / "keys", self.signing.origin)))

    def size(self) -> int:
        with self.database.reading() as tables:
            return tables.log.head().size


def appended(tables: Tables, number: int) -> int:
    """Append one entry of its own."""
    body = Announcement(
        run=f"run-{number}", document=DIGEST, suite=DIGEST, system=DIGEST, arm="attacked", after_the_fact=True, at="2026-01-22T07:00:00Z"
    )
    return tables.log.append(entry_bytes(body), None, (body.run,))



"""Signing, sequencing and publishing a certificate on SQLite, as a ratio to its two transactions alone: `python bench/releasing.py [ROUNDS]`.

The whole: the certifier signs a certificate and its SVR statement, both are stored with their log entry in one transaction, then the head is
proven, marked, signed and stored in a second one. Alone: two transactions of the same database layer that do nothing but insert the same
bytes, each on the disk when it returns. Bound: 3. Beside it stands what the bare driver needs for them, without a bound: where a sync
costs nothing, that is the cost of a layer in Python. All take turns, so that a busy machine slows all; what counts is the median.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter

from pairmark.adapters.log.mark import HighWaterMark
from pairmark.adapters.log.publisher import Publisher
from pairmark.adapters.log.signing import KeySigning, open_keys
from pairmark.adapters.sql.database import SqlDatabase
from pairmark.adapters.sql.migrate import upgrade
from pairmark.app.log_writes import log_trust_roots
from pairmark.app.ports import Tables
from pairmark.domain.canonical import digest_of_bytes
from pairmark.provenance.bundle import parse_bundle
from pairmark.provenance.entries import Released, entry_bytes
from pairmark.provenance.statement import read_statement
from pairmark.provenance.svr import svr_bytes

CORPUS = Path(__file__).parents[1] / "tests" / "verify" / "corpus"
ROUNDS = 60
WARM = 5
BOUND = 3.0
SUITE = digest_of_bytes(b"suite")
AT = "2026-01-22T07:00:00Z"


class Releasing:
    """A log on a real database, which releases one certificate's payload under ever new names."""

    def __init__(self, folder: Path) -> None:
        url = f"sqlite:///{folder / 'pairmark.db'}"
        upgrade(url)
        self.database = SqlDatabase.at(url)
        self.signing: KeySigning = open_keys(folder / "keys", may_make=lambda: True, origin="bench.example/log").signing
        self.publisher = Publisher(self.database, self.signing, HighWaterMark(folder / "keys", self.signing.origin))
        log_trust_roots(self.database, self.signing.chain, datetime.now(UTC))
        self.publisher.publish()
        self.payload = parse_bundle((CORPUS / "certificate.json").read_bytes()).certificate.envelope.payload
        self.svr = svr_bytes(read_statement(self.payload))
        self.stored: list[bytes] = []

    def once(self, number: int) -> None:
        """Sign, sequence, publish."""
        self.database.write(lambda tables: self._sequence(tables, f"certificate-{number}"))
        made = self.publisher.publish()
        assert made is not None
        self.stored.append(made.note)

    def _sequence(self, tables: Tables, name: str) -> None:
        index = tables.log.next_index()
        envelope = self.signing.sign_certificate(self.payload, index).content()
        svr = self.signing.sign_certificate(self.svr, index).content()
        entry = entry_bytes(Released(certificate=name, envelope=digest_of_bytes(envelope), suite=SUITE, at=AT))
        tables.log.append(entry, envelope, (name,))
        tables.documents.put(digest_of_bytes(svr), svr)
        self.stored = [entry, envelope, svr]


class Bare:
    """Two transactions of the bare driver that store the same bytes as durably."""

    def __init__(self, folder: Path) -> None:
        self.connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = FULL"):
            self.connection.execute(f"PRAGMA {pragma}")
        self.connection.execute("CREATE TABLE document (digest TEXT PRIMARY KEY, content BLOB)")

    def once(self, first: bytes, second: bytes) -> None:
        """Insert one, then the other."""
        for content in (first, second):
            self.connection.execute("BEGIN IMMEDIATE")
            self.connection.execute("INSERT INTO document VALUES (?, ?)", (digest_of_bytes(content), content))
            self.connection.execute("COMMIT")


def insert(database: SqlDatabase, content: bytes) -> None:
    """One transaction of the database layer."""
    database.write(lambda tables: tables.documents.put(digest_of_bytes(content), content))


def main(arguments: list[str]) -> int:
    """Print the ratios; 1 if the first is above its bound."""
    rounds = int(arguments[0]) if arguments else ROUNDS
    whole, alone, driver = [], [], []
    with tempfile.TemporaryDirectory(prefix="pairmark-bench-", dir=Path(__file__).parent) as scratch:
        releasing, bare = Releasing(Path(scratch)), Bare(Path(scratch))
        for number in range(WARM + rounds):
            times = [perf_counter()]
            releasing.once(number)
            times.append(perf_counter())
            first, second = b"".join(releasing.stored[:-1]), releasing.stored[-1]
            times.append(perf_counter())
            for content in (first, second):
                insert(releasing.database, content)
            times.append(perf_counter())
            bare.once(first, second)
            times.append(perf_counter())
            if number >= WARM:
                whole.append(times[1] - times[0])
                alone.append(times[3] - times[2])
                driver.append(times[4] - times[3])
        releasing.database.close()
        bare.connection.close()
    ratio = median(whole) / median(alone)
    print(
        f"sign, sequence and publish {median(whole) * 1000:.2f} ms, {ratio:.2f} × its two transactions alone "
        f"({median(alone) * 1000:.2f} ms); bound {BOUND:g}"
    )
    print(f"the bare driver stores the same bytes in two transactions in {median(driver) * 1000:.2f} ms: {median(whole) / median(driver):.2f} × that")
    return 0 if ratio <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

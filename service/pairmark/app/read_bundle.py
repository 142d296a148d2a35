"""A certificate's bundle: all that a stranger needs to verify it offline."""

from __future__ import annotations

from pairmark.app.log_read import receipt_of
from pairmark.app.log_records import LogRecord, Release
from pairmark.app.ports import Tables
from pairmark.app.read_certificate import certificate_of_id
from pairmark.app.stored import Damaged
from pairmark.domain.errors import Conflict
from pairmark.provenance.bundle import Logged, bundle_bytes
from pairmark.provenance.dsse import parse_envelope
from pairmark.provenance.entries import StatusEntry, parse_entry


def release_of(tables: Tables, certificate_id: str) -> Release:
    """Where a certificate stands in the log.

    Raises:
        NotFound: no such certificate.
        Conflict: it was made before there was a log, so nothing of it is signed.
    """
    certificate_of_id(tables, certificate_id)
    found = tables.log.release_of(certificate_id)
    if found is None:
        raise Conflict(
            "not-signed", f"expected a certificate in the log, found that {certificate_id} was made before there was one",
            "hand its runs in again: a new certificate is signed and logged",
        )
    return found


def read_bundle(tables: Tables, certificate_id: str) -> bytes:
    """`certificate.json`: the envelope, its entry and receipt, and every status change known.

    Raises:
        NotFound: no such certificate, or no checkpoint covers it yet.
        Conflict: it was never signed.
    """
    found = release_of(tables, certificate_id)
    record = tables.log.of_index(found.index)
    if record is None:
        raise Damaged(f"expected log entry {found.index}, found none; restore the database from a backup")
    changes = [
        other for other in tables.log.about(certificate_id) if isinstance(parse_entry(other.entry), StatusEntry)
    ]
    return bundle_bytes(_logged(tables, record), parse_envelope(found.svr), [_logged(tables, change) for change in changes])


def _logged(tables: Tables, record: LogRecord) -> Logged:
    if record.envelope is None:
        raise Damaged(f"expected an envelope beside log entry {record.index}, found none; restore the database from a backup")
    return Logged(parse_envelope(record.envelope), record.entry, receipt_of(tables, record.index))

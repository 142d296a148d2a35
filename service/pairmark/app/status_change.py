"""Log that certificates no longer stand: one signed statement, one entry, and history kept in step, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pairmark.app.log_records import Signing
from pairmark.app.moments import moment
from pairmark.app.ports import Tables
from pairmark.app.webhooks import tell_revoked
from pairmark.domain.canonical import digest_of_bytes
from pairmark.domain.errors import Conflict
from pairmark.provenance.entries import Reason, StatusChange, StatusChanged, entry_bytes, parse_entry
from pairmark.provenance.status import fold
from pairmark.provenance.status_statement import status_bytes


@dataclass(frozen=True)
class StatusLogged:
    """A status change as logged at `index`."""

    index: int
    certificates: tuple[str, ...]
    status: StatusChange
    reason: Reason
    by: str | None
    at: str


def log_status(
    tables: Tables, signing: Signing, certificates: Sequence[str], status: StatusChange, reason: Reason, now: datetime,
    *, by: str | None = None, note: str | None = None,
) -> StatusLogged:  # fmt: skip
    """Sign and log that `certificates`, all of them released and not revoked, changed; `by` stands in their place."""
    index, at = tables.log.next_index(), moment(now)
    names = tuple(sorted(certificates))
    payload = status_bytes({name: _envelope_digest(tables, name) for name in names}, status, reason, at=at, by=by, note=note)
    envelope = signing.sign_status(payload, index).content()
    body = StatusChanged(certificates=names, status=status, reason=reason, by=by, envelope=digest_of_bytes(envelope), at=at)
    tables.log.append(entry_bytes(body), envelope, names)
    for name in names:
        entries = [(record.index, parse_entry(record.entry)) for record in tables.log.about(name)]
        tables.history.mark(name, fold(entries)[name].status)
    if status == "revoked":
        tell_revoked(tables, names, reason, at)
    return StatusLogged(index, names, status, reason, by, at)


def _envelope_digest(tables: Tables, certificate_id: str) -> str:
    found = tables.log.release_of(certificate_id)
    record = None if found is None else tables.log.of_index(found.index)
    if record is None or record.envelope is None:
        raise Conflict(
            "not-signed", f"expected a certificate in the log, found that {certificate_id} was made before there was one",
            "hand its runs in again: a new certificate is signed and logged",
        )
    return digest_of_bytes(record.envelope)

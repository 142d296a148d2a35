"""Revoke a certificate: its numbers are no longer vouched for. Final."""

from __future__ import annotations

from datetime import datetime

from pairmark.app.log_records import Signing
from pairmark.app.ports import Tables
from pairmark.app.status import standing_of
from pairmark.app.status_change import StatusLogged, log_status
from pairmark.domain.errors import Conflict
from pairmark.provenance.entries import Reason


def revoke(tables: Tables, signing: Signing, certificate_id: str, reason: Reason, note: str | None, now: datetime) -> StatusLogged:
    """Revoke a certificate that is valid or superseded.

    Raises:
        NotFound: no such certificate.
        Conflict: it is revoked already, or was never signed.
    """
    standing = standing_of(tables, certificate_id)
    if standing.status == "revoked":
        raise Conflict(
            "already-revoked", f"expected a certificate that is not revoked, found {certificate_id} revoked at log index {standing.index}"
            f" ({standing.reason})", "nothing is left to do: a revocation is final",
        )
    return log_status(tables, signing, (certificate_id,), "revoked", reason, now, note=note)

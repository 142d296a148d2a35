"""Supersede a certificate: another one stands in its place."""

from __future__ import annotations

from datetime import datetime

from pairmark.app.errors import ConflictAt, NotFoundAt, Place
from pairmark.app.log_records import Signing
from pairmark.app.ports import Tables
from pairmark.app.read_certificate import certificate_of_id
from pairmark.app.status import standing_of
from pairmark.app.status_change import StatusLogged, log_status
from pairmark.domain.errors import Conflict, NotFound
from pairmark.provenance.entries import Reason


def supersede(
    tables: Tables, signing: Signing, certificate_id: str, by: str, reason: Reason, note: str | None, now: datetime
) -> StatusLogged:
    """Put the valid certificate `by` in the place of a valid one.

    Raises:
        NotFound: one of them is not there.
        Conflict: they are the same, or one of them does not stand.
    """
    standing = standing_of(tables, certificate_id)
    if standing.status != "valid":
        raise Conflict(
            "not-valid", f"expected a valid certificate, found {certificate_id} {standing.status} at log index {standing.index}",
            "supersede the one that stands in its place",
        )
    if by == certificate_id:
        raise ConflictAt(
            "same-certificate", f"expected another certificate in the place of {certificate_id}, found itself", "name the newer one",
            (Place("/by", "is the certificate itself"),),
        )
    try:
        certificate_of_id(tables, by)
        other = standing_of(tables, by)
    except NotFound as problem:
        raise NotFoundAt(problem.code, problem.message, problem.remedy, "/by") from None
    if other.status != "valid":
        raise ConflictAt(
            "not-valid", f"expected a valid certificate to stand in its place, found {by} {other.status}", "name one that stands",
            (Place("/by", f"is {other.status}"),),
        )
    return log_status(tables, signing, (certificate_id,), "superseded", reason, now, by=by, note=note)

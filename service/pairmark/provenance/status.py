"""What became of each certificate: a fold over the log's entries up to a tree size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pairmark.provenance.entries import Entry, Reason, ReleasedEntry, StatusEntry

CertificateStatus = Literal["valid", "superseded", "revoked"]


@dataclass(frozen=True)
class Standing:
    """A certificate's status, since which log index (of its release, while valid), why, and what stands in its place."""

    status: CertificateStatus
    index: int
    reason: Reason | None = None
    by: str | None = None


def fold(entries: Iterable[tuple[int, Entry]]) -> dict[str, Standing]:
    """Standing of every certificate, from (index, entry) in log order.

    Revoked is final; superseded may only become revoked. A change that names a certificate which was not released before it
    has no effect, since nothing stands that it could change.
    """
    standing: dict[str, Standing] = {}
    for index, entry in entries:
        if isinstance(entry, ReleasedEntry):
            standing.setdefault(entry.body.certificate, Standing("valid", index))
        elif isinstance(entry, StatusEntry):
            body = entry.body
            for name in body.certificates:
                now = standing.get(name)
                if now is None or now.status == "revoked" or (now.status == "superseded" and body.status == "superseded"):
                    continue
                standing[name] = Standing(body.status, index, body.reason, body.by)
    return standing

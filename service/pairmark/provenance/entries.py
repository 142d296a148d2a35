"""Entries of the transparency log: what was announced, sealed, released, disproved, revoked or superseded, as canonical bytes.

A signed statement is not inside its entry: the entry names its envelope by digest, and the envelope is stored beside it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import Count, Digest, Identifier, Ordinal, Strict, Time
from pairmark.domain.errors import Malformed
from pairmark.provenance.exact import read_exact

Reason = Literal[
    "measurement-error", "suite-defect", "checker-defect", "policy-defect", "arm-mismatch", "ledger-tampering", "key-compromise",
    "submitter-request", "duplicate", "legal",
]
REASONS: tuple[Reason, ...] = (
    "measurement-error", "suite-defect", "checker-defect", "policy-defect", "arm-mismatch", "ledger-tampering", "key-compromise",
    "submitter-request", "duplicate", "legal",
)
StatusChange = Literal["revoked", "superseded"]
MAX_ENTRY_BYTES = 10_000_000


class Announcement(Strict):
    """A run that is going to be made (or, `after_the_fact`, was). `system` is what makes runs runs of one system."""

    run: Identifier
    document: Digest
    suite: Digest
    system: Digest
    arm: Literal["benign", "attacked"]
    after_the_fact: bool
    at: Time


class Sealed(Strict):
    """A run's final document and ledger."""

    run: Identifier
    document: Digest
    ledger: Digest
    count: Count
    at: Time


class Disproved(Strict):
    """A reviewer's evidence against a held finding, before the certification that rests on it."""

    certification: Identifier
    evidence: Digest
    at: Time


class Released(Strict):
    """A certificate; `envelope` is the digest of its DSSE envelope's bytes."""

    certificate: Identifier
    envelope: Digest
    suite: Digest
    at: Time


class StatusChanged(Strict):
    """Certificates that no longer stand. One operation may name many (a suite or checker defect)."""

    certificates: Annotated[tuple[Identifier, ...], Field(min_length=1, max_length=100_000)]
    status: StatusChange
    reason: Reason
    by: Identifier | None
    envelope: Digest
    at: Time


class TrustRooted(Strict):
    """A version of the trust root."""

    version: Ordinal
    envelope: Digest
    at: Time


class _Entry(Strict):
    schema_: Literal["pairmark/log-entry/v1"] = Field(alias="schema")


class AnnouncementEntry(_Entry):
    """A run was announced."""

    kind: Literal["announcement"]
    body: Announcement


class SealedEntry(_Entry):
    """A run's results came in."""

    kind: Literal["sealed"]
    body: Sealed


class DisprovedEntry(_Entry):
    """A held finding was answered."""

    kind: Literal["disproof"]
    body: Disproved


class ReleasedEntry(_Entry):
    """A certificate was released."""

    kind: Literal["certificate"]
    body: Released


class StatusEntry(_Entry):
    """Certificates were revoked or superseded."""

    kind: Literal["status"]
    body: StatusChanged


class TrustEntry(_Entry):
    """A trust root was published."""

    kind: Literal["trust-root"]
    body: TrustRooted


Entry = AnnouncementEntry | SealedEntry | DisprovedEntry | ReleasedEntry | StatusEntry | TrustEntry
Body = Announcement | Sealed | Disproved | Released | StatusChanged | TrustRooted

_adapter: TypeAdapter[Entry] = TypeAdapter(Annotated[Entry, Field(discriminator="kind")])
_kinds: dict[type[Body], str] = {
    Announcement: "announcement", Sealed: "sealed", Disproved: "disproof", Released: "certificate", StatusChanged: "status",
    TrustRooted: "trust-root",
}


def entry_value(body: Body) -> dict[str, Any]:
    """The entry as a JSON value."""
    return {"schema": "pairmark/log-entry/v1", "kind": _kinds[type(body)], "body": body.model_dump(mode="json")}


def entry_bytes(body: Body) -> bytes:
    """What the leaf hash is taken over: RFC 8785 bytes."""
    return canonical_bytes(entry_value(body))


def parse_entry(data: bytes, *, file: str | None = None, line: int | None = None) -> Entry:
    """Read an entry from the bytes that were hashed.

    Raises:
        Malformed: too long, not canonical, or no entry of a known kind.
    """
    remedy = "fetch the log again"
    if len(data) > MAX_ENTRY_BYTES:
        raise Malformed("too-large", f"expected an entry of at most {MAX_ENTRY_BYTES} bytes, found {len(data)}", file, line, remedy=remedy)
    try:
        read_exact(data, "a log entry")
    except Malformed as problem:
        raise problem.located(file=file, line=line) from None
    try:
        return _adapter.validate_json(data)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        raise Malformed(
            "invalid-entry", f"expected a log entry of a known kind: {first['msg']} at {first['loc']}", file, line, remedy=remedy
        ) from None

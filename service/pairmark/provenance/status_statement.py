"""The signed statement that certificates no longer stand (`urn:pairmark:status:v1`): what a status entry of the log names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import Identifier, Strict, Text, Time
from pairmark.domain.errors import Malformed
from pairmark.provenance.entries import Reason, StatusChange, StatusChanged
from pairmark.provenance.in_toto import StatementOf, read_as, statement_value, subject

STATUS_TYPE = "urn:pairmark:status:v1"


class StatusPredicate(Strict):
    """`certificates` in the order of the subjects; `by` stands in their place; `note` is for people."""

    certificates: Annotated[tuple[Identifier, ...], Field(min_length=1, max_length=100_000)]
    status: StatusChange
    reason: Reason
    by: Identifier | None
    note: Text | None
    at: Time


class StatusStatement(StatementOf):
    """The whole statement."""

    predicate_type: Literal["urn:pairmark:status:v1"] = Field(alias="predicateType")
    predicate: StatusPredicate


@dataclass(frozen=True, eq=False)
class Change:
    """A status statement: its predicate, and the envelope digest (`sha256:...`) of each certificate that it names."""

    predicate: StatusPredicate
    envelopes: Mapping[str, str]

    def matches(self, entry: StatusChanged) -> bool:
        """Whether a log entry says the same."""
        said = self.predicate
        return (entry.certificates, entry.status, entry.reason, entry.by, entry.at) == (
            said.certificates, said.status, said.reason, said.by, said.at,
        )  # fmt: skip


def status_bytes(
    envelopes: Mapping[str, str], status: StatusChange, reason: Reason, *, at: str, by: str | None = None, note: str | None = None
) -> bytes:
    """The payload to sign.

    Args:
        envelopes: digest of the envelope bytes of each certificate that changes, by serial.
        status: what becomes of them.
        reason: one of the closed list.
        at: a time with offset.
        by: serial of the certificate that stands in their place; required with `superseded`, and only then.
        note: a sentence for people.

    Raises:
        Malformed: nothing is named, or `by` is missing or too much.
    """
    names = sorted(envelopes)
    predicate: dict[str, Any] = {
        "certificates": names, "status": status, "reason": reason, "by": by, "note": note, "at": at,
    }  # fmt: skip
    subjects = [subject(f"certificate/{name}", envelopes[name]) for name in names]
    payload = canonical_bytes(statement_value(subjects, STATUS_TYPE, predicate))
    read_status(payload)
    return payload


def read_status(payload: bytes, *, file: str | None = None) -> Change:
    """A status statement from its payload bytes.

    Raises:
        Malformed: not canonical, another shape, subjects that are not the certificates named, one named twice, or `by`
            without `superseded`.
    """
    document, _ = read_as(StatusStatement, payload, "a status statement", file=file)
    said: StatusPredicate = document.predicate
    problem = None
    if [item.name for item in document.subject] != [f"certificate/{name}" for name in said.certificates]:
        problem = "expected the certificates that are named as subjects, in their order; found others"
    elif len(set(said.certificates)) != len(said.certificates):
        problem = "expected each certificate once, found one again"
    elif (said.by is not None) != (said.status == "superseded"):
        problem = f"expected a certificate that stands in their place with superseded and only then, found status {said.status}"
    elif said.by in said.certificates:
        problem = "expected another certificate in their place, found one of them"
    if problem is not None:
        raise Malformed("contradiction", problem, file, remedy="do not trust this statement")
    digests = (item.digest.sha256 for item in document.subject)
    return Change(said, {name: f"sha256:{digest}" for name, digest in zip(said.certificates, digests, strict=True)})

"""Shapes of requests and answers about the log and the standing of certificates."""

from __future__ import annotations

from typing import ClassVar, Literal

from pairmark.domain.documents.base import Count, Digest, Document, Identifier, JsonValue, Strict, Text, Time
from pairmark.provenance.entries import Reason, StatusChange


class PublishRequest(Document):
    """`episodes` says whether everybody may read the episodes too, or only documents, numbers and what is proven of them."""

    title: ClassVar[str] = "publication"

    episodes: Literal["public", "private"] = "public"


class RevokeRequest(Document):
    """`reason` is one of the closed list; `note` is for people, and signed with it."""

    title: ClassVar[str] = "revocation"

    reason: Reason
    note: Text | None = None


class SupersedeRequest(Document):
    """`by` is the certificate that stands in its place."""

    title: ClassVar[str] = "supersession"

    by: Identifier
    reason: Reason
    note: Text | None = None


class CascadeRequest(Document):
    """`digest` is of a suite's content (`suite-defect`) or of a checker (`checker-defect`); `dry_run` only lists."""

    title: ClassVar[str] = "cascade"

    reason: Literal["suite-defect", "checker-defect"]
    digest: Digest
    dry_run: bool
    note: Text | None = None


class PublishedAnswer(Strict):
    """Where a certificate stands in the published log. `receipt` is in C2SP tlog-proof form."""

    certificate: Identifier
    index: Count
    size: Count
    receipt: Text


class StatusChangeAnswer(Strict):
    """A status change as logged at `index`."""

    index: Count
    certificates: tuple[Identifier, ...]
    status: StatusChange
    reason: Reason
    by: Identifier | None
    at: Time


class StandingAnswer(Strict):
    """A certificate's status within the first `size` log entries, and the entry that says so. `reason` is null while it is valid."""

    certificate: Identifier
    status: Literal["valid", "superseded", "revoked"]
    index: Count
    reason: Reason | None
    by: Identifier | None
    size: Count
    checkpoint: Text


class CascadeAnswer(Strict):
    """What rests on a defect. `labels` are the histories that change; `change` is null in a dry run.

    `unsigned` certificates were made before there was a log, and cannot be named by a signed statement. `answers` are the paths of
    histories and comparisons that will be answered otherwise; of the `comparisons` the first hundred are among them.
    """

    suites: tuple[Digest, ...]
    labels: tuple[Identifier, ...]
    certificates: tuple[Identifier, ...]
    unsigned: tuple[Identifier, ...]
    answers: tuple[Text, ...]
    comparisons: Count
    change: StatusChangeAnswer | None


class LogItem(Strict):
    """An entry; `envelope` is the signed envelope that it names, in base64."""

    index: Count
    entry: dict[str, JsonValue]
    envelope: str | None


class LogEntries(Strict):
    """Published entries in order; `next` is the `start` of the following page."""

    size: Count
    items: tuple[LogItem, ...]
    next: Count | None


class ProofAnswer(Strict):
    """An audit path (base64) with the root it leads to.

    With `index`: of that entry, whose leaf hash is `leaf`; `receipt` is there where a checkpoint of that size was signed. With
    `first`: that the tree of `first` entries is the beginning of this one; then `leaf` is the root of the smaller tree.
    """

    index: Count | None
    first: Count | None
    size: Count
    leaf: str
    path: tuple[str, ...]
    root: str
    receipt: Text | None

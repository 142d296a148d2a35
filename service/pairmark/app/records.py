"""What is stored, as the use cases see it: small frozen records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pairmark.app.stages import QUEUED, Progress


@dataclass(frozen=True)
class SuiteLabel:
    """A label of a suite version. `digest` is of its content, `manifest` of the whole document; times as `moments` writes."""

    name: str
    version: str
    digest: str
    manifest: str
    created_at: str


@dataclass(frozen=True)
class Seal:
    """What closed a run: its final document, and the canonical ledger's digest, under which it is stored, and count."""

    document: str
    ledger: str
    count: int
    created_at: str


@dataclass(frozen=True)
class StoredRun:
    """A run. `announcement` and `document` (the latest) are digests of documents; `complete` says that it came with results."""

    id: str
    arm: str
    suite: str
    announcement: str
    document: str
    amendments: int
    after_the_fact: bool
    created_at: str
    seal: Seal | None

    @property
    def state(self) -> Literal["announced", "sealed"]:
        return "announced" if self.seal is None else "sealed"


@dataclass(frozen=True)
class Certification:
    """A verdict that was given. Run fields are run ids; `policy`, `manifest`, `disproof` and `report` digests of documents."""

    id: str
    subject: str
    benign: str
    attacked: str
    baseline: str | None
    policy: str
    manifest: str
    disproof: str | None
    disproves: str | None
    report: str
    verdict: str
    certificate: str | None
    created_at: str


@dataclass(frozen=True)
class ListedCertification:
    """A verdict in a list; `disproved_by` is the certification that answered it with a disproof."""

    certification: Certification
    disproved_by: str | None


@dataclass(frozen=True)
class Certificate:
    """A released pair; `document` is the digest of the certificate document."""

    id: str
    certification: str
    document: str
    created_at: str


@dataclass(frozen=True)
class RevokedAlike:
    """A revoked certificate over two ledgers; `suite` is the content's digest, `policy` the document's."""

    certificate: str
    suite: str
    policy: str


@dataclass(frozen=True)
class Job:
    """A certification that waits for its turn, or is being worked on. `problem` says why the last try came to nothing, or was refused."""

    id: str
    subject: str
    request: Mapping[str, Any]
    created_at: str
    problem: str | None
    progress: Progress = QUEUED


@dataclass(frozen=True)
class CancelledJob:
    """A certification that was cancelled before it was done."""

    id: str
    request: Mapping[str, Any]
    created_at: str
    cancelled_at: str


Status = Literal["valid", "superseded", "revoked", "uncertifiable"]
"""What became of a released pair; `uncertifiable` is a submitted aggregate, which never was one."""

UNKNOWN_MIX = ""
"""Stands for a suite digest where the mix of cells is not known."""


@dataclass(frozen=True)
class HistoryEntry:
    """What history finds a certificate, or an aggregate, by. Metric values are exact fractions (None: undefined) by metric name.

    `certificate` is the id of either. `names` holds what a filter of that kind matches: `model`, `defense`, `attack`,
    `harness`, `scaffold`, `policy`. `summary` is the line that an answer shows, as canonical bytes.
    """

    certificate: str
    suite: str
    weighting: str
    definition: str
    created_at: str
    metrics: Mapping[str, str | None]
    names: Mapping[str, Sequence[str]]
    summary: bytes
    suite_name: str = ""
    status: Status = "valid"


@dataclass(frozen=True)
class HistoryLine:
    """What a page of history shows of an entry, the value it is ordered by, and what says whether it is comparable."""

    certificate: str
    order: str | float
    summary: bytes
    suite: str
    definition: str
    status: Status


Order = Literal["date", "drop", "utility"]
LeftOut = Literal["other-mix", "other-definition", "superseded", "revoked", "uncertifiable", "undefined-rate"]
"""Why an entry under the name of a suite is not in its history."""


@dataclass(frozen=True)
class HistoryQuery:
    """Filters of one page of history. `names` must all match; `bounds` are (metric, "min" or "max", value), inclusive.

    `suite_names` are the suite's own: all that is over it stands under one of them. With `incomparable`, whatever else
    stands under them is listed too.
    """

    suite: str
    weighting: str
    definition: str
    names: tuple[tuple[str, str], ...] = ()
    since: str | None = None
    until: str | None = None
    bounds: tuple[tuple[str, Literal["min", "max"], float], ...] = ()
    order: Order = "date"
    descending: bool = True
    suite_names: tuple[str, ...] = ()
    incomparable: bool = False


def why_left_out(status: Status, suite: str, definition: str, query: HistoryQuery) -> LeftOut | None:
    """Why such an entry under the suite's names is not comparable within the query's mix; None where it is."""
    if status == "uncertifiable":
        return "uncertifiable"
    if suite != query.suite:
        return "other-mix"
    if status in ("superseded", "revoked"):
        return status
    return None if definition == query.definition else "other-definition"


@dataclass(frozen=True)
class KeptAnswer:
    """An answer kept under an idempotency key."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Reservation:
    """A key in use. `token` belongs to whoever works on it; `answer` is there once the work is done."""

    key: str
    fingerprint: str
    token: str
    reserved_at: str
    answer: KeptAnswer | None

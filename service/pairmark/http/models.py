"""Shapes of requests and answers, beside the documents: what OpenAPI shows. Routes write these keys and no others."""

from __future__ import annotations

from typing import ClassVar, Literal

from pairmark.app.ports import LeftOut
from pairmark.domain.documents.aggregate import (
    Aggregate,
    AggregateCounts,
    AggregateFlips,
    AggregateSource,
    Clusters,
    Reason,
)
from pairmark.domain.documents.base import Count, Digest, Document, Identifier, JsonValue, Strict, Text, Time
from pairmark.domain.documents.certificate import Certificate
from pairmark.domain.documents.report import Flag, PolicyReference, Report
from pairmark.domain.documents.run import Attack, Defense, Harness, LedgerReference, Run, Scaffold
from pairmark.domain.documents.suite import Weighting


class CertificationRequest(Document):
    """Runs by id; `policy` is a shipped policy's `NAME/VERSION`."""

    title: ClassVar[str] = "certification request"

    benign: Identifier
    attacked: Identifier
    baseline: Identifier | None = None
    policy: Identifier = "standard/1"


class SuiteItem(Strict):
    """A label. `digest` is of the content, `manifest` of the whole document under this label."""

    name: Identifier
    version: Identifier
    digest: Digest
    manifest: Digest
    created_at: Time


class RegisteredSuite(SuiteItem):
    """`kept` names notes of this request (description, source, probes) that differ from those registered first, which stay."""

    kept: tuple[str, ...]


class SuitePage(Strict):
    items: tuple[SuiteItem, ...]
    next: str | None


class RunAnswer(Strict):
    """A run. `digest` is of its latest document `run`, `announcement` of the one it was announced with."""

    id: Identifier
    state: Literal["announced", "sealed"]
    after_the_fact: bool
    created_at: Time
    sealed_at: Time | None
    digest: Digest
    announcement: Digest
    episodes: LedgerReference | None
    run: Run


class EpisodePage(Strict):
    """Episodes in canonical order, all fourteen keys each."""

    items: tuple[dict[str, JsonValue], ...]
    next: str | None


class CertifiedRunIds(Strict):
    benign: Identifier
    attacked: Identifier
    baseline: Identifier | None


class CertificationProgress(Strict):
    """How far a certification is: `done` of `steps` in its stage, and `percent` of the whole, which never decreases."""

    stage: Literal["queued", "reading", "rules", "numbers", "recording"]
    done: int
    steps: int
    percent: int


class CertificationAnswer(Strict):
    """A verdict, or the promise of one (`state` waiting, `report` null), or none (`cancelled`). `manifest` is the suite document it rests on."""

    id: Identifier
    state: Literal["done", "waiting", "cancelled"]
    certificate: Identifier | None
    created_at: Time
    runs: CertifiedRunIds
    manifest: Digest
    disproves: Identifier | None
    progress: CertificationProgress | None
    report: Report | None


class CertificateAnswer(Strict):
    """The certificate document, its digest, and the report it releases."""

    digest: Digest
    certificate: Certificate
    report: Report


class HistorySuite(Strict):
    """The mix that the answer is over, and every label it has; null where only aggregates stand under the name."""

    digest: Digest | None
    labels: tuple[SuiteItem, ...]


class HistoryModel(Strict):
    requested: Identifier | None
    served: tuple[Identifier, ...]


class HistorySystem(Strict):
    model: HistoryModel
    defenses: tuple[Defense, ...] | None
    scaffold: Scaffold | None


class HistoryItem(Strict):
    """A certificate. `left_out` is null over the mix; with `include=incomparable` it says why another one does not compare."""

    certificate: Identifier
    certification: Identifier
    issued_at: Time
    policy: PolicyReference
    flags: tuple[Flag, ...]
    system: HistorySystem
    attack: Attack | None
    harness: Harness
    metrics: dict[str, JsonValue]
    suite: Digest
    status: Literal["valid", "superseded", "revoked"]
    left_out: LeftOut | None


class AggregateItem(Strict):
    """Counts whose episodes nobody has: no certificate, for `reasons`."""

    aggregate: Identifier
    name: Identifier
    submitted_at: Time
    system: HistorySystem
    attack: Attack | None
    harness: Harness
    counts: AggregateCounts
    flips: AggregateFlips | None
    clusters: Clusters | None
    metrics: dict[str, JsonValue]
    reasons: tuple[Reason, ...]
    source: AggregateSource
    suite: Digest | None
    status: Literal["uncertifiable"]
    left_out: Literal["uncertifiable"]


class HistoryPage(Strict):
    """Certificates of one mix, one weighting and one definition of the metrics.

    `left_out` counts, by reason, what stands under the suite's names and does not compare, whether it is listed or not.
    """

    suite: HistorySuite
    weighting: Weighting | None
    definition: Text
    items: tuple[HistoryItem | AggregateItem, ...]
    left_out: dict[LeftOut, Count]
    retrieved_at: Time
    next: str | None


class AggregateAnswer(Strict):
    """An aggregate as kept: its document, that document's digest, and why it has no certificate."""

    id: Identifier
    digest: Digest
    status: Literal["uncertifiable"]
    reasons: tuple[Reason, ...]
    metrics: dict[str, JsonValue]
    aggregate: Aggregate


class Health(Strict):
    status: Literal["ok"]


class Readiness(Strict):
    """What the service stands on; not ready is a problem, 503."""

    status: Literal["ready"]
    database: Literal["ok"]
    migrations: Text
    store: Literal["ok"]
    signer: Literal["ok"]

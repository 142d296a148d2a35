"""Certificate (`pairmark/certificate/v1`): the release of a certified pair. It names what it rests on by digest."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from pairmark.domain.documents.base import Digest, Document, Identifier, Strict, Time
from pairmark.domain.documents.report import Flag, PolicyReference
from pairmark.domain.documents.run import LedgerReference


class CertifiedSuite(Strict):
    """`digest` is of the suite's frozen content, `manifest` of the whole document, probes and description included."""

    name: Identifier
    digest: Digest
    manifest: Digest


class CertifiedRun(Strict):
    """A sealed run: its id on the service, its document's digest and its ledger."""

    id: Identifier
    digest: Digest
    ledger: LedgerReference


class CertifiedRuns(Strict):
    """The runs that were given; without a baseline an undefended attacked run stands for it."""

    benign: CertifiedRun
    attacked: CertifiedRun
    baseline: CertifiedRun | None


class Certificate(Document):
    """`report` is the digest of the report's canonical bytes, `disproof` that of a reviewer's recorded evidence."""

    title: ClassVar[str] = "certificate"

    schema_: Literal["pairmark/certificate/v1"] = Field(alias="schema")
    id: Identifier
    issued_at: Time
    certification: Identifier
    report: Digest
    suite: CertifiedSuite
    policy: PolicyReference
    runs: CertifiedRuns
    disproof: Digest | None
    flags: tuple[Flag, ...]

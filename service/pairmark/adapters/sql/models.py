"""The tables. Documents are bytes by digest; other rows are small, and all but keys and jobs are only ever added to.

Models never leave this package.
"""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
    UniqueConstraint,
)
from sqlmodel import Field, SQLModel

DIGEST = String(71)
MOMENT = String(32)
ID = String(64)
NAME = String(256)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class Row(SQLModel):
    """What every table shares."""

    metadata = METADATA


def _digest(table: str | None = "documents.digest", *, primary: bool = False, nullable: bool = False) -> Column[str]:
    references = () if table is None else (ForeignKey(table),)
    return Column(DIGEST, *references, primary_key=primary, nullable=nullable)


class DocumentRow(Row, table=True):
    """A document's RFC 8785 bytes (a report's too)."""

    __tablename__ = "documents"

    digest: str = Field(sa_column=_digest(None, primary=True))
    content: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


class SuiteRow(Row, table=True):
    """A label of a suite version. `digest` is of the content, `manifest` of the document."""

    __tablename__ = "suites"
    __table_args__ = (Index("ix_suites_order", "created_at", "name", "version"),)

    name: str = Field(sa_column=Column(NAME, primary_key=True))
    version: str = Field(sa_column=Column(NAME, primary_key=True))
    digest: str = Field(sa_column=Column(DIGEST, nullable=False, index=True))
    manifest: str = Field(sa_column=Column(DIGEST, ForeignKey("documents.digest"), nullable=False, index=True))
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))


class RunRow(Row, table=True):
    """A run as announced. `complete` is its document's digest if that came with its results."""

    __tablename__ = "runs"
    __table_args__ = (CheckConstraint("arm IN ('benign', 'attacked')", name="arm"),)

    id: str = Field(sa_column=Column(ID, primary_key=True))
    arm: str = Field(sa_column=Column(String(16), nullable=False))
    suite: str = Field(sa_column=Column(DIGEST, nullable=False, index=True))
    announcement: str = Field(sa_column=_digest())
    complete: str | None = Field(sa_column=Column(DIGEST, nullable=True, unique=True))
    after_the_fact: bool
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))


class AmendmentRow(Row, table=True):
    """A later document of a run; the highest number is the latest."""

    __tablename__ = "run_amendments"

    run: str = Field(sa_column=Column(ID, ForeignKey("runs.id"), primary_key=True))
    number: int = Field(primary_key=True)
    document: str = Field(sa_column=Column(DIGEST, ForeignKey("documents.digest"), nullable=False, index=True))
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))


class SealRow(Row, table=True):
    """What closed a run. The primary key lets one upload win."""

    __tablename__ = "run_seals"

    run: str = Field(sa_column=Column(ID, ForeignKey("runs.id"), primary_key=True))
    document: str = Field(sa_column=_digest())
    ledger: str = Field(sa_column=Column(DIGEST, nullable=False, index=True))
    count: int = Field(sa_column_kwargs={"nullable": False})
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))


class CertificationRow(Row, table=True):
    """A verdict. `subject` is a digest of all that decides it, so that there is one row for one question."""

    __tablename__ = "certifications"
    __table_args__ = (Index(None, "verdict", "created_at", "id"),)

    id: str = Field(sa_column=Column(ID, primary_key=True))
    subject: str = Field(sa_column=Column(DIGEST, nullable=False, unique=True))
    benign: str = Field(sa_column=Column(ID, ForeignKey("run_seals.run"), nullable=False, index=True))
    attacked: str = Field(sa_column=Column(ID, ForeignKey("run_seals.run"), nullable=False, index=True))
    baseline: str | None = Field(sa_column=Column(ID, ForeignKey("run_seals.run"), nullable=True, index=True))
    policy: str = Field(sa_column=_digest())
    manifest: str = Field(sa_column=_digest())
    disproof: str | None = Field(sa_column=_digest(nullable=True))
    disproves: str | None = Field(sa_column=Column(ID, ForeignKey("certifications.id"), nullable=True, index=True))
    report: str = Field(sa_column=_digest())
    verdict: str = Field(sa_column=Column(String(16), nullable=False))
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))


class CertificateRow(Row, table=True):
    """A released pair."""

    __tablename__ = "certificates"
    __table_args__ = (UniqueConstraint("certification"),)

    id: str = Field(sa_column=Column(ID, primary_key=True))
    certification: str = Field(sa_column=Column(ID, ForeignKey("certifications.id"), nullable=False))
    document: str = Field(sa_column=_digest())
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))


_mix = ("suite", "weighting", "definition", "status")


class HistoryRow(Row, table=True):
    """What history finds an entry by: its mix, and each rate as exact text and as a number to sort by.

    `id` is a certificate's or an aggregate's. `suite` is empty where the mix of cells is not known.
    """

    __tablename__ = "history_entries"
    __table_args__ = (
        CheckConstraint("status IN ('valid', 'superseded', 'revoked', 'uncertifiable')", name="status"),
        Index("ix_history_entries_date", *_mix, "created_at", "id"),
        Index("ix_history_entries_drop", *_mix, "utility_drop_number", "id"),
        Index("ix_history_entries_utility", *_mix, "utility_under_attack_number", "id"),
        Index("ix_history_entries_name", "suite_name", "status", "suite", "definition"),
    )

    id: str = Field(sa_column=Column(ID, primary_key=True))
    suite_name: str = Field(sa_column=Column(NAME, nullable=False))
    suite: str = Field(sa_column=Column(DIGEST, nullable=False))
    weighting: str = Field(sa_column=Column(String(16), nullable=False))
    definition: str = Field(sa_column=Column(String(64), nullable=False))
    status: str = Field(sa_column=Column(String(16), nullable=False))
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))
    benign_utility: str | None = Field(sa_column=Column(Text, nullable=True))
    benign_utility_number: float | None = Field(sa_column=Column(Double, nullable=True))
    utility_under_attack: str | None = Field(sa_column=Column(Text, nullable=True))
    utility_under_attack_number: float | None = Field(sa_column=Column(Double, nullable=True))
    utility_drop: str | None = Field(sa_column=Column(Text, nullable=True))
    utility_drop_number: float | None = Field(sa_column=Column(Double, nullable=True))
    attack_success_rate: str | None = Field(sa_column=Column(Text, nullable=True))
    attack_success_rate_number: float | None = Field(sa_column=Column(Double, nullable=True))
    summary: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


class HistoryNameRow(Row, table=True):
    """A name that a filter of this kind matches; an entry may have several (requested and served model)."""

    __tablename__ = "history_entry_names"
    __table_args__ = (Index("ix_history_entry_names_kind_name", "kind", "name", "entry"),)

    entry: str = Field(sa_column=Column(ID, ForeignKey("history_entries.id"), primary_key=True))
    kind: str = Field(sa_column=Column(String(16), primary_key=True))
    name: str = Field(sa_column=Column(NAME, primary_key=True))


class HistoryTallyRow(Row, table=True):
    """How many entries stand where; kept in step by whatever adds or marks one, in its transaction."""

    __tablename__ = "history_tallies"

    suite_name: str = Field(sa_column=Column(NAME, primary_key=True))
    status: str = Field(sa_column=Column(String(16), primary_key=True))
    suite: str = Field(sa_column=Column(DIGEST, primary_key=True))
    definition: str = Field(sa_column=Column(String(64), primary_key=True))
    entries: int = Field(sa_column_kwargs={"nullable": False})


class AggregateRow(Row, table=True):
    """A submitted aggregate; one row for one document."""

    __tablename__ = "aggregates"

    id: str = Field(sa_column=Column(ID, primary_key=True))
    document: str = Field(sa_column=Column(DIGEST, ForeignKey("documents.digest"), nullable=False, unique=True))
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))


class KeyRow(Row, table=True):
    """An idempotency key: reserved while `status` is null, then with the answer to replay."""

    __tablename__ = "idempotency_keys"

    key: str = Field(sa_column=Column(String(255), primary_key=True))
    fingerprint: str = Field(sa_column=Column(DIGEST, nullable=False))
    token: str = Field(sa_column=Column(ID, nullable=False))
    reserved_at: str = Field(sa_column=Column(MOMENT, nullable=False, index=True))
    status: int | None = Field(default=None)
    headers: bytes | None = Field(sa_column=Column(LargeBinary, nullable=True))
    body: bytes | None = Field(sa_column=Column(LargeBinary, nullable=True))


class JobRow(Row, table=True):
    """A certification that waits. `problem` says why the last try came to nothing; `begun` counts tries that did not end."""

    __tablename__ = "certification_jobs"

    id: str = Field(sa_column=Column(ID, primary_key=True))
    subject: str = Field(sa_column=Column(DIGEST, nullable=False, unique=True))
    request: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))
    problem: str | None = Field(sa_column=Column(String(512), nullable=True))
    stage: str = Field(sa_column=Column(String(16), nullable=False))
    done: int = Field(sa_column=Column(Integer, nullable=False))
    steps: int = Field(sa_column=Column(Integer, nullable=False))
    percent: int = Field(sa_column=Column(Integer, nullable=False))
    begun: int = Field(sa_column=Column(Integer, nullable=False))


class CancelledJobRow(Row, table=True):
    """A certification that was cancelled before it was done."""

    __tablename__ = "cancelled_certifications"

    id: str = Field(sa_column=Column(ID, primary_key=True))
    request: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))
    cancelled_at: str = Field(sa_column=Column(MOMENT, nullable=False))

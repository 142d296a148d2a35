"""Tables of people: who may come in, what belongs to whom, what is published, what was changed."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint
from sqlmodel import Field

from pairmark.adapters.sql.models import DIGEST, ID, MOMENT, NAME, Row


class OrganisationRow(Row, table=True):
    """An organisation; its runs are its own until they are published."""

    __tablename__ = "organisations"

    id: str = Field(sa_column=Column(ID, primary_key=True))
    name: str = Field(sa_column=Column(NAME, nullable=False, unique=True))
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))


class MemberRow(Row, table=True):
    """A member. `roles` are words joined by commas; rows stay when somebody leaves."""

    __tablename__ = "members"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    id: str = Field(sa_column=Column(ID, primary_key=True))
    organisation: str = Field(sa_column=Column(ID, ForeignKey("organisations.id"), nullable=False, index=True))
    name: str = Field(sa_column=Column(NAME, nullable=False))
    roles: str = Field(sa_column=Column(String(128), nullable=False))
    issuer: str | None = Field(sa_column=Column(NAME, nullable=True))
    subject: str | None = Field(sa_column=Column(NAME, nullable=True))
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))
    removed_at: str | None = Field(sa_column=Column(MOMENT, nullable=True))


class ApiKeyRow(Row, table=True):
    """A key; of its secret only the digest."""

    __tablename__ = "api_keys"

    id: str = Field(sa_column=Column(ID, primary_key=True))
    member: str = Field(sa_column=Column(ID, ForeignKey("members.id"), nullable=False, index=True))
    label: str = Field(sa_column=Column(NAME, nullable=False))
    secret_digest: str = Field(sa_column=Column(DIGEST, nullable=False))
    scopes: str = Field(sa_column=Column(String(128), nullable=False))
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))
    expires_at: str | None = Field(sa_column=Column(MOMENT, nullable=True))
    last_used_at: str | None = Field(sa_column=Column(MOMENT, nullable=True))
    revoked_at: str | None = Field(sa_column=Column(MOMENT, nullable=True))


class RunOwnerRow(Row, table=True):
    """Whose a run is. A run without a row is from before anybody signed in."""

    __tablename__ = "run_owners"

    run: str = Field(sa_column=Column(ID, ForeignKey("runs.id"), primary_key=True))
    organisation: str = Field(sa_column=Column(ID, nullable=False, index=True))


class PublicationRow(Row, table=True):
    """A certificate that everybody may read."""

    __tablename__ = "publications"
    __table_args__ = (CheckConstraint("episodes IN ('public', 'private')", name="episodes"),)

    certificate: str = Field(sa_column=Column(ID, ForeignKey("certificates.id"), primary_key=True))
    episodes: str = Field(sa_column=Column(String(16), nullable=False))
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))


class AuditRow(Row, table=True):
    """One change of state. `changes` is a JSON list of rows, before and after."""

    __tablename__ = "audit_log"
    __table_args__ = (Index("ix_audit_log_order", "at", "id"), Index("ix_audit_log_organisation", "organisation", "at", "id"))

    id: str = Field(sa_column=Column(ID, primary_key=True))
    at: str = Field(sa_column=Column(MOMENT, nullable=False))
    organisation: str | None = Field(sa_column=Column(ID, nullable=True))
    member: str | None = Field(sa_column=Column(ID, nullable=True))
    key: str | None = Field(sa_column=Column(ID, nullable=True))
    via: str = Field(sa_column=Column(String(16), nullable=False))
    address: str | None = Field(sa_column=Column(String(64), nullable=True))
    request: str | None = Field(sa_column=Column(String(128), nullable=True))
    action: str = Field(sa_column=Column(Text, nullable=False))
    changes: bytes = Field(sa_column=Column(LargeBinary, nullable=False))

"""Tables of webhooks and of the outbox."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, LargeBinary, String, Text
from sqlmodel import Field

from pairmark.adapters.sql.models import ID, MOMENT, Row


class WebhookRow(Row, table=True):
    """An address that is told of events. Its secret signs, so it is stored as it is."""

    __tablename__ = "webhooks"

    id: str = Field(sa_column=Column(ID, primary_key=True))
    organisation: str = Field(sa_column=Column(ID, nullable=False, index=True))
    url: str = Field(sa_column=Column(Text, nullable=False))
    secret: str = Field(sa_column=Column(String(128), nullable=False))
    events: str = Field(sa_column=Column(String(128), nullable=False))
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))
    removed_at: str | None = Field(sa_column=Column(MOMENT, nullable=True))


class DeliveryRow(Row, table=True):
    """One event to one webhook. While somebody tries it, `claimed_until` keeps others away."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'delivered', 'given-up')", name="state"),
        Index("ix_webhook_deliveries_due", "state", "next_at"),
        Index("ix_webhook_deliveries_order", "webhook", "created_at", "id"),
    )

    id: str = Field(sa_column=Column(ID, primary_key=True))
    webhook: str = Field(sa_column=Column(ID, ForeignKey("webhooks.id"), nullable=False))
    event: str = Field(sa_column=Column(String(32), nullable=False))
    body: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    created_at: str = Field(sa_column=Column(MOMENT, nullable=False))
    state: str = Field(sa_column=Column(String(16), nullable=False))
    attempts: int = Field(sa_column_kwargs={"nullable": False})
    next_at: str = Field(sa_column=Column(MOMENT, nullable=False))
    claimed_until: str | None = Field(sa_column=Column(MOMENT, nullable=True))
    status: int | None = Field(default=None)
    problem: str | None = Field(sa_column=Column(String(512), nullable=True))
    delivered_at: str | None = Field(sa_column=Column(MOMENT, nullable=True))

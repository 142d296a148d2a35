"""Shapes of requests and answers about webhooks."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from pairmark.app.webhook_records import DeliveryState, Event
from pairmark.domain.documents.base import DISTINCT, Count, Document, Identifier, JsonValue, Strict, Text, Time


class WebhookRequest(Document):
    """An address to be told. Without `events` it is told of all."""

    title: ClassVar[str] = "webhook request"

    url: Text
    events: Annotated[tuple[Event, ...], Field(min_length=1, max_length=4), DISTINCT] | None = None


class RetryRequest(Document):
    """An empty object: there is nothing to choose."""

    title: ClassVar[str] = "retry"


class WebhookAnswer(Strict):
    """A webhook without its secret."""

    id: Identifier
    url: Text
    events: tuple[Event, ...]
    created_at: Time
    removed_at: Time | None


class WebhookMadeAnswer(WebhookAnswer):
    """A new webhook, with the only copy of its secret; null where an earlier answer, which had it, is replayed."""

    secret: Text | None


class WebhookList(Strict):
    items: tuple[WebhookAnswer, ...]


class DeliveryAnswer(Strict):
    """One event to one webhook: what it is told, and what became of it."""

    id: Identifier
    event: Event
    created_at: Time
    state: DeliveryState
    attempts: Count
    next_at: Time | None
    status: Count | None
    problem: Text | None
    delivered_at: Time | None
    body: dict[str, JsonValue]


class DeliveryPage(Strict):
    items: tuple[DeliveryAnswer, ...]
    next: str | None

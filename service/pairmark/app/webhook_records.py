"""Webhooks as the use cases see them: who is told of what, and what became of each telling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

Event = Literal["certified", "refused", "quarantined", "revoked"]
EVENTS: tuple[Event, ...] = get_args(Event)
DeliveryState = Literal["waiting", "delivered", "given-up"]


@dataclass(frozen=True)
class Webhook:
    """An address of an organisation's that is told of events. `secret` signs what it is told (Standard Webhooks, `whsec_`)."""

    id: str
    organisation: str
    url: str
    secret: str
    events: tuple[Event, ...]
    created_at: str
    removed_at: str | None


@dataclass(frozen=True)
class Delivery:
    """One event to one webhook. `next_at` is when it is tried (again); `problem` says why the last try came to nothing."""

    id: str
    webhook: str
    event: Event
    body: bytes
    created_at: str
    state: DeliveryState
    attempts: int
    next_at: str
    status: int | None
    problem: str | None
    delivered_at: str | None


class Webhooks(Protocol):
    """Webhooks and the outbox of what they are to be told."""

    def add(self, webhook: Webhook) -> None: ...
    def of_id(self, webhook_id: str) -> Webhook | None: ...
    def of_organisation(self, organisation: str) -> tuple[Webhook, ...]: ...
    def remove(self, webhook_id: str, at: str) -> None:
        """End a webhook; what it has not been told yet is given up."""
        ...

    def owner_of_run(self, run_id: str) -> str:
        """The organisation that a run belongs to."""
        ...

    def owner_of_certificate(self, certificate_id: str) -> str:
        """The organisation whose runs a certificate is over."""
        ...

    def tell(self, organisation: str, event: Event, body: bytes, at: str) -> None:
        """Put an event into the outbox, for every webhook of the organisation that wants it."""
        ...

    def deliveries(self, webhook_id: str, after: tuple[str, str] | None, limit: int) -> tuple[Delivery, ...]:
        """Up to `limit` deliveries before (created_at, id), the newest first."""
        ...

    def delivery(self, delivery_id: str) -> Delivery | None: ...
    def any_due(self, now: str) -> bool:
        """Whether anything is to be told by now."""
        ...

    def take(self, now: str, until: str, limit: int) -> Sequence[tuple[Delivery, Webhook]]:
        """Deliveries that are due, claimed by this transaction until a moment; nobody else gets them before."""
        ...

    def note(self, delivery: Delivery) -> None:
        """Store what became of a try."""
        ...

"""Webhooks and the outbox of what they are to be told."""

from __future__ import annotations

import secrets
from typing import Any, cast

from sqlalchemy import ColumnElement, CursorResult, and_, or_, tuple_, update
from sqlmodel import Session, col, select

from pairmark.adapters.sql.models import CertificateRow, CertificationRow
from pairmark.adapters.sql.people_models import RunOwnerRow
from pairmark.adapters.sql.webhook_models import DeliveryRow, WebhookRow
from pairmark.app.paging import is_plain
from pairmark.app.webhook_records import EVENTS, Delivery, DeliveryState, Event, Webhook
from pairmark.domain.access import FIRST_ORGANISATION


class SqlWebhooks:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, webhook: Webhook) -> None:
        self._session.add(
            WebhookRow(
                id=webhook.id, organisation=webhook.organisation, url=webhook.url, secret=webhook.secret, events=",".join(webhook.events),
                created_at=webhook.created_at, removed_at=webhook.removed_at,
            )
        )
        self._session.flush()

    def of_id(self, webhook_id: str) -> Webhook | None:
        row = self._session.get(WebhookRow, webhook_id) if is_plain(webhook_id) else None
        return None if row is None else _webhook(row)

    def of_organisation(self, organisation: str) -> tuple[Webhook, ...]:
        asked = select(WebhookRow).where(WebhookRow.organisation == organisation)
        return tuple(_webhook(row) for row in self._session.exec(asked.order_by(col(WebhookRow.created_at), col(WebhookRow.id))))

    def remove(self, webhook_id: str, at: str) -> None:
        row = self._session.get_one(WebhookRow, webhook_id)
        row.removed_at = at
        self._session.add(row)
        self._session.flush()
        self._session.execute(
            update(DeliveryRow).where(col(DeliveryRow.webhook) == webhook_id, col(DeliveryRow.state) == "waiting")
            .values(state="given-up", problem="the webhook was removed")
        )  # fmt: skip

    def owner_of_run(self, run_id: str) -> str:
        found = self._session.get(RunOwnerRow, run_id)
        return FIRST_ORGANISATION if found is None else found.organisation

    def owner_of_certificate(self, certificate_id: str) -> str:
        asked = (
            select(CertificationRow.attacked).join(CertificateRow, col(CertificateRow.certification) == col(CertificationRow.id))
            .where(CertificateRow.id == certificate_id)
        )  # fmt: skip
        attacked = self._session.exec(asked).first()
        return FIRST_ORGANISATION if attacked is None else self.owner_of_run(attacked)

    def tell(self, organisation: str, event: Event, body: bytes, at: str) -> None:
        wanting = select(WebhookRow).where(WebhookRow.organisation == organisation, col(WebhookRow.removed_at).is_(None))
        for row in self._session.exec(wanting):
            if event in row.events.split(","):
                self._session.add(
                    DeliveryRow(
                        id=f"delivery-{secrets.token_hex(16)}", webhook=row.id, event=event, body=body, created_at=at, state="waiting",
                        attempts=0, next_at=at, claimed_until=None, problem=None, delivered_at=None,
                    )
                )
        self._session.flush()

    def deliveries(self, webhook_id: str, after: tuple[str, str] | None, limit: int) -> tuple[Delivery, ...]:
        order = (col(DeliveryRow.created_at), col(DeliveryRow.id))
        asked = select(DeliveryRow).where(DeliveryRow.webhook == webhook_id)
        if after is not None:
            asked = asked.where(tuple_(*order) < after)
        return tuple(_delivery(row) for row in self._session.exec(asked.order_by(*(each.desc() for each in order)).limit(limit)))

    def delivery(self, delivery_id: str) -> Delivery | None:
        row = self._session.get(DeliveryRow, delivery_id) if is_plain(delivery_id) else None
        return None if row is None else _delivery(row)

    def any_due(self, now: str) -> bool:
        return self._session.exec(select(DeliveryRow.id).where(_due(now)).limit(1)).first() is not None

    def take(self, now: str, until: str, limit: int) -> list[tuple[Delivery, Webhook]]:
        due = select(DeliveryRow.id).where(_due(now))
        taken = []
        for identifier in self._session.exec(due.order_by(col(DeliveryRow.next_at), col(DeliveryRow.id)).limit(limit)).all():
            claimed = self._session.execute(
                update(DeliveryRow).where(col(DeliveryRow.id) == identifier, _due(now)).values(claimed_until=until)
            )
            if cast("CursorResult[Any]", claimed).rowcount:
                row = self._session.get_one(DeliveryRow, identifier)
                webhook = self._session.get_one(WebhookRow, row.webhook)
                taken.append((_delivery(row), _webhook(webhook)))
        return taken

    def note(self, delivery: Delivery) -> None:
        self._session.execute(
            update(DeliveryRow).where(col(DeliveryRow.id) == delivery.id).values(
                state=delivery.state, attempts=delivery.attempts, next_at=delivery.next_at, status=delivery.status,
                problem=delivery.problem, delivered_at=delivery.delivered_at, claimed_until=None,
            )
        )  # fmt: skip


def _due(now: str) -> ColumnElement[bool]:
    free = or_(col(DeliveryRow.claimed_until).is_(None), col(DeliveryRow.claimed_until) <= now)
    return and_(col(DeliveryRow.state) == "waiting", col(DeliveryRow.next_at) <= now, free)


def _webhook(row: WebhookRow) -> Webhook:
    wanted = row.events.split(",")
    events = tuple(each for each in EVENTS if each in wanted)
    return Webhook(row.id, row.organisation, row.url, row.secret, events, row.created_at, row.removed_at)


def _delivery(row: DeliveryRow) -> Delivery:
    return Delivery(
        row.id, row.webhook, cast("Event", row.event), row.body, row.created_at, cast("DeliveryState", row.state), row.attempts,
        row.next_at, row.status, row.problem, row.delivered_at,
    )

"""Tell organisations what became of their pairs: an outbox filled in the transaction of what happened, emptied with patience."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from pairmark.app.moments import moment
from pairmark.app.ports import Tables
from pairmark.app.records import Certification
from pairmark.app.webhook_records import EVENTS, Delivery, Event, Webhook
from pairmark.domain.access import Principal
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.errors import Conflict, Malformed, NotFound, shown

PAUSES = tuple(
    timedelta(seconds=seconds) for seconds in (5, 60, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
)
"""Between tries; over three days in all, after which a delivery is given up."""

MOST_WEBHOOKS = 20
"""Of one organisation."""


def tell_verdict(tables: Tables, certification: Certification, suite: str) -> None:
    """A pair was judged."""
    event: Event = next(each for each in EVENTS if each == certification.verdict)
    data: dict[str, object] = {
        "certification": certification.id, "certificate": certification.certificate, "verdict": certification.verdict, "suite": suite,
        "runs": {"benign": certification.benign, "attacked": certification.attacked, "baseline": certification.baseline},
    }  # fmt: skip
    organisation = tables.webhooks.owner_of_run(certification.attacked)
    tables.webhooks.tell(organisation, event, _body(f"certification.{event}", certification.created_at, data), certification.created_at)


def tell_revoked(tables: Tables, certificates: tuple[str, ...], reason: str, at: str) -> None:
    """Certificates no longer stand. Each organisation is told of its own."""
    owners: dict[str, list[str]] = {}
    for certificate in certificates:
        owners.setdefault(tables.webhooks.owner_of_certificate(certificate), []).append(certificate)
    for organisation, own in sorted(owners.items()):
        tables.webhooks.tell(organisation, "revoked", _body("certificate.revoked", at, {"certificates": own, "reason": reason}), at)


def _body(kind: str, at: str, data: dict[str, object]) -> bytes:
    return canonical_bytes({"type": kind, "timestamp": at, "data": data})


def add_webhook(tables: Tables, principal: Principal, webhook_id: str, *, url: str, secret: str, events: tuple[Event, ...], now: datetime) -> Webhook:
    """A new webhook of the caller's organisation.

    Raises:
        Conflict: it has too many.
    """
    there = [each for each in tables.webhooks.of_organisation(principal.owner) if each.removed_at is None]
    if len(there) >= MOST_WEBHOOKS:
        raise Conflict("too-many-webhooks", f"expected at most {MOST_WEBHOOKS} webhooks of one organisation, found {len(there)}", "remove one first")
    made = Webhook(webhook_id, principal.owner, url, secret, tuple(each for each in EVENTS if each in events), moment(now), None)
    tables.webhooks.add(made)
    return made


def webhook_of_id(tables: Tables, principal: Principal, webhook_id: str) -> Webhook:
    """A webhook of the caller's organisation.

    Raises:
        NotFound: there is none.
    """
    found = tables.webhooks.of_id(webhook_id)
    if found is None or found.organisation != principal.owner:
        raise NotFound("unknown-webhook", f"expected the id of a webhook, found {shown(webhook_id)}", "pairmark webhooks list (GET /v1/webhooks) lists them")
    return found


def remove_webhook(tables: Tables, principal: Principal, webhook_id: str, now: datetime) -> Webhook:
    """End a webhook. Again changes nothing."""
    there = webhook_of_id(tables, principal, webhook_id)
    if there.removed_at is not None:
        return there
    tables.webhooks.remove(webhook_id, moment(now))
    return replace(there, removed_at=moment(now))


def try_again(tables: Tables, principal: Principal, webhook_id: str, delivery_id: str, now: datetime) -> Delivery:
    """Have a delivery tried at once.

    Raises:
        NotFound: no such delivery.
        Malformed: the webhook was removed.
    """
    webhook = webhook_of_id(tables, principal, webhook_id)
    found = tables.webhooks.delivery(delivery_id)
    if found is None or found.webhook != webhook_id:
        raise NotFound("unknown-delivery", f"expected the id of a delivery, found {shown(delivery_id)}", "pairmark webhooks deliveries (GET /v1/webhooks/{id}/deliveries) lists them")
    if webhook.removed_at is not None:
        raise Malformed("webhook-removed", f"expected a webhook that stands, found it removed at {webhook.removed_at}", remedy="add it again")
    again = replace(found, state="waiting", next_at=moment(now))
    tables.webhooks.note(again)
    return again


def noted(delivery: Delivery, status: int | None, problem: str | None, now: datetime) -> Delivery:
    """A delivery after a try: done with any 2xx, else to be tried again later, at last given up."""
    attempts = delivery.attempts + 1
    if problem is None:
        return replace(delivery, state="delivered", attempts=attempts, status=status, problem=None, delivered_at=moment(now))
    if attempts > len(PAUSES):
        return replace(delivery, state="given-up", attempts=attempts, status=status, problem=problem)
    return replace(delivery, attempts=attempts, status=status, problem=problem, next_at=moment(now + PAUSES[attempts - 1]))

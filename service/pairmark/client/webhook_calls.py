"""Calls about webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from pairmark.client.steps import Call, Steps, asked, get, post
from pairmark.client.verbs import Awaited, Listing, Paged, Verb, Waiting
from pairmark.domain.canonical import canonical_bytes
from pairmark.http.webhook_models import (
    DeliveryAnswer,
    DeliveryPage,
    WebhookAnswer,
    WebhookList,
    WebhookMadeAnswer,
)


class WebhookVerbs:
    """One method for each call."""

    @Verb
    def all(self) -> Steps[tuple[WebhookAnswer, ...]]:
        """The organisation's webhooks, those that were removed too."""
        return (yield from asked(get("/v1/webhooks"), WebhookList)).items

    @Verb
    def add(self, url: str, events: Sequence[str] | None = None) -> Steps[WebhookMadeAnswer]:
        """Add an address; the secret that signs what it is told is in this answer and nowhere else."""
        body = {"url": url} if events is None else {"url": url, "events": list(events)}
        return (yield from asked(post("/v1/webhooks", canonical_bytes(body)), WebhookMadeAnswer))

    @Verb
    def remove(self, webhook_id: str) -> Steps[WebhookAnswer]:
        """End a webhook."""
        return (yield from asked(Call("DELETE", _at(webhook_id)), WebhookAnswer))

    @Listing
    def deliveries(self, webhook_id: str) -> Paged[DeliveryAnswer]:
        """What a webhook was told, or is to be, the newest first, page by page behind the scenes."""
        place = f"{_at(webhook_id)}/deliveries"

        def read(call: Call) -> Steps[tuple[Sequence[DeliveryAnswer], Call | None]]:
            page = yield from asked(call, DeliveryPage)
            return page.items, None if page.next is None else get(place, {"cursor": page.next})

        return Paged(get(place), read)

    @Verb
    def retry(self, webhook_id: str, delivery_id: str) -> Steps[DeliveryAnswer]:
        """Have a delivery tried at once."""
        return (yield from asked(post(f"{_at(webhook_id)}/deliveries/{quote(delivery_id, safe='')}/retry", b"{}"), DeliveryAnswer))


class WebhookCalls(WebhookVerbs, Waiting):
    """Calls that wait."""


class AsyncWebhookCalls(WebhookVerbs, Awaited):
    """Calls that are awaited."""


def _at(webhook_id: str) -> str:
    return f"/v1/webhooks/{quote(webhook_id, safe='')}"

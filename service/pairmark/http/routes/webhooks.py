"""Webhooks: addresses that are told what became of an organisation's pairs."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Response

from pairmark.adapters.webhooks.sending import new_secret, require_usable
from pairmark.app.paging import cursor_at, place_of, query_mark
from pairmark.app.ports import KeptAnswer, Tables
from pairmark.app.webhook_records import EVENTS, Delivery, Webhook
from pairmark.app.webhooks import add_webhook, remove_webhook, try_again, webhook_of_id
from pairmark.domain.strict_json import parse
from pairmark.http.answers import changing_json, kept_json
from pairmark.http.bodies import WithJson
from pairmark.http.documented import answers, json_of
from pairmark.http.once import WithOnce
from pairmark.http.paging import PageParams
from pairmark.http.services import WithServices
from pairmark.http.webhook_models import (
    DeliveryAnswer,
    DeliveryPage,
    RetryRequest,
    WebhookAnswer,
    WebhookList,
    WebhookMadeAnswer,
    WebhookRequest,
)

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"])


@router.get("", responses=answers(s200=WebhookList))
def get_webhooks(services: WithServices) -> Response:
    """The organisation's webhooks, those that were removed too."""
    with services.database.reading() as tables:
        found = tables.webhooks.of_organisation(services.principal.owner)
    return changing_json({"items": [_webhook(each) for each in found]})


@router.post("", status_code=201, openapi_extra=json_of(WebhookRequest), responses=answers(400, 409, 413, 415, s201=WebhookMadeAnswer))
def post_webhook(body: WithJson, once: WithOnce, services: WithServices) -> Response:
    """Add an address. What it is told is signed with a secret that is in this answer and nowhere else."""
    asked, _ = body.read(WebhookRequest)
    require_usable(asked.url, private=services.settings.webhook_private)
    secrets: list[str] = []

    def add(tables: Tables) -> KeptAnswer:
        secret = new_secret()
        made = add_webhook(
            tables, services.principal, services.new_id("webhook"), url=asked.url, secret=secret,
            events=EVENTS if asked.events is None else asked.events, now=services.clock(),
        )  # fmt: skip
        secrets[:] = [secret]  # the work may run again on a fresh view
        return kept_json(201, {**_webhook(made), "secret": None}, {"Location": f"/v1/webhooks/{made.id}/deliveries"})

    answer = once.answer(add)
    if not secrets:
        return answer
    shown = {**orjson.loads(bytes(answer.body)), "secret": secrets[0]}
    return changing_json(shown, 201, {"Cache-Control": "no-store", "Location": answer.headers["location"]})


@router.delete("/{webhook_id}", responses=answers(404, s200=WebhookAnswer))
def delete_webhook(webhook_id: str, services: WithServices) -> Response:
    """End a webhook; what it has not been told yet is given up."""
    gone = services.database.write(lambda tables: remove_webhook(tables, services.principal, webhook_id, services.clock()))
    return changing_json(_webhook(gone))


@router.get("/{webhook_id}/deliveries", responses=answers(404, s200=DeliveryPage))
def get_deliveries(webhook_id: str, params: Annotated[PageParams, Query()], services: WithServices) -> Response:
    """What a webhook was told, or is to be, the newest first."""
    limit = params.size(services.settings)
    mark = query_mark(["deliveries", webhook_id])
    place = place_of(params.cursor, mark, (str, str))
    after = None if place is None else (str(place[0]), str(place[1]))
    with services.database.reading() as tables:
        webhook_of_id(tables, services.principal, webhook_id)
        found = tables.webhooks.deliveries(webhook_id, after, limit + 1)
    items = found[:limit]
    following = cursor_at(mark, (items[-1].created_at, items[-1].id)) if len(found) > limit else None
    return changing_json({"items": [_delivery(each) for each in items], "next": following})


@router.post(
    "/{webhook_id}/deliveries/{delivery_id}/retry", openapi_extra=json_of(RetryRequest, required=False),
    responses=answers(400, 404, 409, 413, 415, s200=DeliveryAnswer),
)
def post_retry(webhook_id: str, delivery_id: str, body: WithJson, once: WithOnce, services: WithServices) -> Response:
    """Have a delivery tried at once, whatever became of it."""
    body.read(RetryRequest)
    return once.answer(
        lambda tables: kept_json(200, _delivery(try_again(tables, services.principal, webhook_id, delivery_id, services.clock())))
    )


def _webhook(webhook: Webhook) -> dict[str, Any]:
    return {
        "id": webhook.id, "url": webhook.url, "events": list(webhook.events), "created_at": webhook.created_at, "removed_at": webhook.removed_at,
    }  # fmt: skip


def _delivery(delivery: Delivery) -> dict[str, Any]:
    return {
        "id": delivery.id, "event": delivery.event, "created_at": delivery.created_at, "state": delivery.state, "attempts": delivery.attempts,
        "next_at": delivery.next_at if delivery.state == "waiting" else None, "status": delivery.status, "problem": delivery.problem,
        "delivered_at": delivery.delivered_at, "body": parse(delivery.body),
    }  # fmt: skip

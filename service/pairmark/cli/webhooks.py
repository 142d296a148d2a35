"""`pairmark webhooks`: addresses that are told what became of an organisation's pairs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from pairmark.cli.console import say, say_all, table
from pairmark.cli.exit_codes import OK
from pairmark.cli.service import DEFAULT_SERVICE, ServiceUrl, client_of

app = typer.Typer(help="Addresses that a service tells what became of your pairs. For admins.", no_args_is_help=True)


class Event(StrEnum):
    """What an address is told of."""

    CERTIFIED = "certified"
    REFUSED = "refused"
    QUARANTINED = "quarantined"
    REVOKED = "revoked"


WebhookId = Annotated[str, typer.Argument(metavar="WEBHOOK", help="The webhook's id.")]


@app.command("add")
def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where to tell: a public address over HTTPS.")],
    event: Annotated[list[Event] | None, typer.Option("--event", help="What to tell of; may be given again; by default all.")] = None,
    service: ServiceUrl = DEFAULT_SERVICE,
) -> int:
    """Add an address. Prints its id and, once, the secret that signs what it is told."""
    with client_of(service) as client:
        made = client.webhooks.add(url, None if event is None else [each.value for each in event])
    say(f"{made.id}  {made.secret or '(secret shown before)'}")
    return OK


@app.command("list")
def list_webhooks(service: ServiceUrl = DEFAULT_SERVICE) -> int:
    """List addresses, those that were removed too."""
    with client_of(service) as client:
        found = client.webhooks.all()
    rows = [(one.id, ", ".join(one.events), one.url if one.removed_at is None else f"{one.url} (removed {one.removed_at})") for one in found]
    say_all(table([("webhook", "events", "url"), *rows]))
    return OK


@app.command("remove")
def remove(webhook: WebhookId, service: ServiceUrl = DEFAULT_SERVICE) -> int:
    """End a webhook; what it has not been told yet is given up."""
    with client_of(service) as client:
        gone = client.webhooks.remove(webhook)
    say(f"{gone.id} removed at {gone.removed_at}")
    return OK


@app.command("deliveries")
def deliveries(
    webhook: WebhookId,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="Deliveries to show.")] = 50,
    service: ServiceUrl = DEFAULT_SERVICE,
) -> int:
    """What a webhook was told, or is to be, the newest first."""
    from itertools import islice

    with client_of(service) as client:
        found = list(islice(client.webhooks.deliveries(webhook), limit))
    rows = [
        (one.id, one.event, one.state, str(one.attempts), one.problem or ("" if one.status is None else f"answered {one.status}")) for one in found
    ]
    say_all(table([("delivery", "event", "state", "tries", ""), *rows]))
    return OK


@app.command("retry")
def retry(
    webhook: WebhookId,
    delivery: Annotated[str, typer.Argument(metavar="DELIVERY", help="The delivery's id.")],
    service: ServiceUrl = DEFAULT_SERVICE,
) -> int:
    """Have a delivery tried at once, whatever became of it."""
    with client_of(service) as client:
        again = client.webhooks.retry(webhook, delivery)
    say(f"{again.id} {again.state}")
    return OK

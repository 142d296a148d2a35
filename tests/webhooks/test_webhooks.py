"""Webhooks to a real receiver on loopback: signed, tried again, seen, and never into a private network unasked."""

from __future__ import annotations

import ipaddress
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from pairmark.adapters.webhooks.sending import is_public
from pairmark.app.webhooks import PAUSES
from pairmark.domain.world import World
from pairmark.http.postman import Postman
from tests.service.serving import Service, problem_in


@dataclass
class Receiver:
    """What came in, and what to answer."""

    url: str = ""
    answers: list[int] = field(default_factory=list)
    told: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            found.told.append(({name.lower(): value for name, value in self.headers.items()}, body))
            status = found.answers.pop(0) if found.answers else 204
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    found.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join(5)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service.at(tmp_path / "data", webhook_private_addresses="allow")


@dataclass
class Clock:
    """A time that a test moves."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        return self.now


def postman_of(service: Service, clock: Clock | None = None) -> Postman:
    from dataclasses import replace

    parts = service.app.state.services
    return Postman(parts if clock is None else replace(parts, clock=clock))


def hooked(service: Service, receiver: Receiver, events: list[str] | None = None) -> dict[str, Any]:
    body = {"url": receiver.url} if events is None else {"url": receiver.url, "events": events}
    answer = service.post("/v1/webhooks", body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def deliveries(service: Service, webhook: dict[str, Any]) -> list[dict[str, Any]]:
    return list(service.get(f"/v1/webhooks/{webhook['id']}/deliveries").json()["items"])


def test_a_verdict_is_told_and_signed(service: Service, receiver: Receiver) -> None:
    webhook = hooked(service, receiver)
    done = service.certify(service.submit(World.of(tasks=12, injections=6))).json()
    assert postman_of(service).tell_due() == 1
    headers, body = receiver.told[0]
    said = Verifier(webhook["secret"]).verify(body, headers)
    assert said["type"] == "certification.certified"
    assert (said["data"]["certification"], said["data"]["certificate"]) == (done["id"], done["certificate"])
    with pytest.raises(WebhookVerificationError):
        Verifier(webhook["secret"]).verify(body.replace(b"certified", b"refused"), headers)
    delivery = deliveries(service, webhook)[0]
    assert (delivery["id"], delivery["state"], delivery["status"], delivery["attempts"]) == (headers["webhook-id"], "delivered", 204, 1)
    assert delivery["body"] == json.loads(body)
    assert postman_of(service).tell_due() == 0


def test_a_revocation_is_told_to_who_wants_it(service: Service, receiver: Receiver) -> None:
    wanting, other = hooked(service, receiver, ["revoked"]), hooked(service, receiver, ["refused", "quarantined"])
    done = service.certify(service.submit(World.of(tasks=12, injections=6))).json()
    service.post(f"/v1/certificates/{done['certificate']}/revoke", {"reason": "submitter-request"})
    postman_of(service).tell_due()
    assert [json.loads(body)["type"] for _, body in receiver.told] == ["certificate.revoked"]
    assert json.loads(receiver.told[0][1])["data"] == {"certificates": [done["certificate"]], "reason": "submitter-request"}
    assert (len(deliveries(service, wanting)), deliveries(service, other)) == (1, [])


def test_a_refusal_names_no_numbers(service: Service, receiver: Receiver) -> None:
    hooked(service, receiver)
    world = World.of(tasks=12, injections=6).edit_run("attacked", "/system/model/served", ["another"])
    assert service.certify(service.submit(world)).json()["report"]["verdict"] == "refused"
    postman_of(service).tell_due()
    said = json.loads(receiver.told[0][1])
    assert said["type"] == "certification.refused"
    assert set(said["data"]) == {"certification", "certificate", "verdict", "suite", "runs"}


def test_what_fails_is_tried_again_later_and_at_last_given_up(service: Service, receiver: Receiver) -> None:
    webhook, clock = hooked(service, receiver), Clock()
    service.certify(service.submit(World.of(tasks=12, injections=6)))
    clock.now = datetime.now(UTC)
    receiver.answers = [500, 302, 404] + [503] * 20
    postman = postman_of(service, clock)
    for pause in PAUSES:
        assert postman.tell_due() == 1
        assert postman.tell_due() == 0
        clock.now += pause - timedelta(milliseconds=1)
        assert postman.tell_due() == 0
        clock.now += timedelta(milliseconds=2)
    assert postman.tell_due() == 1
    clock.now += timedelta(days=30)
    assert postman.tell_due() == 0
    delivery = deliveries(service, webhook)[0]
    assert (delivery["state"], delivery["attempts"], delivery["status"]) == ("given-up", len(PAUSES) + 1, 503)
    receiver.answers = []
    again = service.post(f"/v1/webhooks/{webhook['id']}/deliveries/{delivery['id']}/retry", {})
    assert again.json()["state"] == "waiting"
    assert postman.tell_due() == 1
    assert deliveries(service, webhook)[0]["state"] == "delivered"
    assert len({headers["webhook-id"] for headers, _ in receiver.told}) == 1


def test_one_event_is_told_by_one_of_many_postmen(service: Service, receiver: Receiver) -> None:
    hooked(service, receiver)
    service.certify(service.submit(World.of(tasks=12, injections=6)))
    threads = [threading.Thread(target=postman_of(service).tell_due) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(receiver.told) == 1


def test_what_a_dead_postman_held_is_taken_up_again(service: Service, receiver: Receiver) -> None:
    hooked(service, receiver)
    service.certify(service.submit(World.of(tasks=12, injections=6)))
    now = datetime.now(UTC)
    parts = service.app.state.services
    taken = parts.database.write(lambda tables: list(tables.webhooks.take(now.isoformat(timespec="microseconds"), (now + timedelta(minutes=5)).isoformat(timespec="microseconds"), 9)))
    assert len(taken) == 1  # and never noted
    clock = Clock(now + timedelta(minutes=4))
    assert postman_of(service, clock).tell_due() == 0
    clock.now = now + timedelta(minutes=6)
    assert postman_of(service, clock).tell_due() == 1


def test_a_removed_webhook_is_told_nothing(service: Service, receiver: Receiver) -> None:
    webhook = hooked(service, receiver)
    service.certify(service.submit(World.of(tasks=12, injections=6)))
    gone = service.call("DELETE", f"/v1/webhooks/{webhook['id']}").json()
    assert gone["removed_at"] is not None
    assert postman_of(service).tell_due() == 0
    assert deliveries(service, webhook)[0]["state"] == "given-up"
    problem_in(service.get("/v1/webhooks/none/deliveries"), 404, "unknown-webhook")


def test_the_secret_is_shown_once(service: Service, receiver: Receiver) -> None:
    webhook = hooked(service, receiver)
    listed = service.get("/v1/webhooks")
    assert webhook["secret"] not in listed.text
    assert webhook["secret"] not in service.get("/v1/audit").text


PRIVATE = [
    "http://example.org/", "https://127.0.0.1/", "https://[::1]/", "https://10.0.0.1/", "https://192.168.1.1/", "https://169.254.169.254/latest",
    "https://[fd00::1]/", "https://[::ffff:10.0.0.1]/", "https://[64:ff9b::a00:1]/", "https://0.0.0.0/", "https://224.0.0.1/",
    "https://user:secret@example.org/", "ftp://example.org/", "https://", "https:///x", "nonsense", "https://exa mple.org/", "https://[::1",
    "https://example.org:99999/", "https://" + "a" * 3000, "https://éxample.org/",
]  # fmt: skip


@pytest.mark.parametrize("url", PRIVATE, ids=lambda url: url[:40])
def test_what_leads_inside_is_refused(tmp_path: Path, url: str) -> None:
    service = Service.at(tmp_path / "data")
    problem_in(service.post("/v1/webhooks", {"url": url}), 422, "bad-webhook-url")


def test_a_name_that_leads_inside_is_not_told(service: Service, receiver: Receiver, tmp_path: Path) -> None:
    """The name is judged when it is resolved, at every try: what was public yesterday may lead inside today."""
    from dataclasses import replace

    port = receiver.url.split(":")[2].split("/")[0]
    receiver.url = f"http://localhost:{port}/hook"
    webhook = hooked(service, receiver)
    service.certify(service.submit(World.of(tasks=12, injections=6)))
    parts = service.app.state.services
    Postman(replace(parts, settings=replace(parts.settings, webhook_private_addresses="refuse"))).tell_due()
    assert receiver.told == []
    assert deliveries(service, webhook)[0]["problem"] == "localhost is not a public address"


@pytest.mark.parametrize("text", ["8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_public_addresses_are_public(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", ["100.64.0.1", "198.18.0.1", "2002:a00:1::", "fe80::1", "ff02::1", "::", "255.255.255.255", "192.0.2.1"])
def test_addresses_in_disguise_are_not(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))

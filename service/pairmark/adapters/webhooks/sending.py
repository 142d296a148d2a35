"""One signed POST to one address. The address is resolved, judged and connected to once, so that a name cannot change in between."""

from __future__ import annotations

import base64
import ipaddress
import secrets
import socket
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

import httpx
from standardwebhooks import Webhook as Signer

from pairmark.app.webhook_records import Delivery, Webhook
from pairmark.domain.errors import Malformed, one_line, shown

TIMEOUT_SECONDS = 10.0
SECRET_BYTES = 32
LONGEST_URL = 2000


@dataclass(frozen=True)
class Tried:
    """What came of a try: the status that was answered, and what was wrong; None if nothing was."""

    status: int | None
    problem: str | None


def new_secret() -> str:
    """A new signing secret in the form that Standard Webhooks gives it."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def require_usable(url: str, *, private: bool) -> None:
    """Refuse what can never be told.

    Raises:
        Malformed: no URL of a host, credentials in it, or, unless `private` addresses are allowed, no HTTPS or an address that is not public.
    """
    refused = Malformed(
        "bad-webhook-url", f"expected an {'http or ' if private else ''}https URL without credentials, of a public address, found {shown(url)}",
        pointer="/url", remedy="give the address that is to be told",
    )
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise refused from None
    if len(url) > LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url or not host:
        raise refused
    if parts.scheme not in (("https", "http") if private else ("https",)) or parts.username is not None or parts.password is not None:
        raise refused
    literal = _literal(host)
    if literal is not None and not private and not is_public(literal):
        raise refused


def send(webhook: Webhook, delivery: Delivery, now: datetime, *, private: bool) -> Tried:
    """Tell an address once. Redirects are not followed, and nothing of the answer is read but its status."""
    parts = urlsplit(webhook.url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        address = _address_of(host, port, private=private)
    except OSError as problem:
        return Tried(None, one_line(f"no address of {host}: {problem}", 200))
    if address is None:
        return Tried(None, f"{host} is not a public address")
    body = delivery.body.decode()
    headers = {
        "Content-Type": "application/json", "Host": parts.netloc, "User-Agent": "pairmark-webhooks/1", "webhook-id": delivery.id,
        "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": Signer(webhook.secret).sign(delivery.id, now, body),
    }  # fmt: skip
    pinned = httpx.URL(webhook.url).copy_with(host=address, port=port)
    try:
        with (
            httpx.Client(timeout=TIMEOUT_SECONDS, follow_redirects=False, trust_env=False) as client,
            client.stream("POST", pinned, content=body.encode(), headers=headers, extensions={"sni_hostname": host}) as response,
        ):
            status = response.status_code
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as problem:
        return Tried(None, one_line(str(problem) or type(problem).__name__, 200))
    return Tried(status, None if 200 <= status < 300 else f"expected a status of 200 to 299, found {status}")


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address is of the public network: not private, loopback, link-local, multicast, reserved, or one of those in disguise."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (None if address.teredo is None else address.teredo[1])
        if inner is not None:
            return is_public(inner)
        if address in ipaddress.ip_network("64:ff9b::/96"):
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    return address.is_global and not address.is_multicast


def _address_of(host: str, port: int, *, private: bool) -> str | None:
    """The address to connect to; None if any that the name leads to is not public, since which one is used would be luck."""
    found = [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    if not found or (not private and not all(is_public(each) for each in found)):
        return None
    return str(found[0])


def _literal(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None

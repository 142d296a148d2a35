"""Who calls, what the call needs, and how often it may come: asked once for every request that touches what is stored."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from pairmark.adapters.identity.oidc import OidcVerifier
from pairmark.adapters.sql.database import SqlDatabase
from pairmark.app.errors import NotPermitted, NotSignedIn, TooManyRequests
from pairmark.app.people import first_organisation, join, make_key
from pairmark.app.people_records import Actor, ApiKey
from pairmark.app.ports import Clock, NewId, Tables
from pairmark.app.sign_in import SignedIn, is_key, sign_in_with_identity, sign_in_with_key
from pairmark.domain.access import ANONYMOUS, LOCAL, Permission, Principal, Role
from pairmark.domain.errors import shown
from pairmark.http.route_table import calls_of
from pairmark.http.settings import Settings

NEEDS: Mapping[tuple[str, str], Permission | None] = {
    ("POST", "/v1/suites"): "register",
    ("POST", "/v1/runs"): "submit",
    ("PUT", "/v1/runs/{run_id}"): "submit",
    ("PUT", "/v1/runs/{run_id}/episodes"): "submit",
    ("POST", "/v1/runs/{run_id}/uploads"): "submit",
    ("PATCH", "/v1/runs/{run_id}/uploads/{upload_id}"): "submit",
    ("DELETE", "/v1/runs/{run_id}/uploads/{upload_id}"): "submit",
    ("POST", "/v1/runs/{run_id}/uploads/{upload_id}/seal"): "submit",
    ("POST", "/v1/aggregates"): "submit",
    ("POST", "/v1/certifications"): "submit",
    ("DELETE", "/v1/certifications/{certification_id}"): "submit",
    ("POST", "/v1/certificates/{certificate_id}/publish"): "submit",
    ("POST", "/v1/certifications/{certification_id}/disproof"): "review",
    ("POST", "/v1/certificates/{certificate_id}/revoke"): "review",
    ("POST", "/v1/certificates/{certificate_id}/supersede"): "review",
    ("POST", "/v1/cascades"): "review",
    ("POST", "/v1/plans"): None,
    ("GET", "/v1/members"): "read",
    ("GET", "/v1/members/{member_id}"): "read",
    ("POST", "/v1/members"): "administer",
    ("PATCH", "/v1/members/{member_id}"): "administer",
    ("DELETE", "/v1/members/{member_id}"): "administer",
    ("GET", "/v1/keys"): "read",
    ("POST", "/v1/keys"): "read",
    ("DELETE", "/v1/keys/{key_id}"): "read",
    ("GET", "/v1/organisations"): "read",
    ("POST", "/v1/organisations"): "administer",
    ("GET", "/v1/audit"): "administer",
    ("POST", "/sign-in"): None,
    ("POST", "/sign-out"): None,
    ("GET", "/v1/webhooks"): "administer",
    ("POST", "/v1/webhooks"): "administer",
    ("DELETE", "/v1/webhooks/{webhook_id}"): "administer",
    ("GET", "/v1/webhooks/{webhook_id}/deliveries"): "administer",
    ("POST", "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/retry"): "administer",
}
"""What a call needs beyond being seen. A GET that is not here needs nothing: it answers with what its caller sees."""

BEARER = "bearer"
COOKIE = "pairmark_key"
"""A browser's sign-in. Taken for pages only: the interface wants the header, which no other site can make a browser send."""


@dataclass(frozen=True, eq=False)
class Access:
    """The door. One for each process."""

    settings: Settings
    database: SqlDatabase
    clock: Clock
    oidc: OidcVerifier | None
    _limiter: MovingWindowRateLimiter = field(default_factory=lambda: MovingWindowRateLimiter(MemoryStorage()))
    _closed: list[bool] = field(default_factory=list)

    @classmethod
    def of(cls, settings: Settings, database: SqlDatabase, clock: Clock) -> Access:
        """The door that the settings ask for."""
        oidc = None
        if settings.oidc_issuer is not None:
            audience = "pairmark" if settings.oidc_audience is None else settings.oidc_audience
            oidc = OidcVerifier(settings.oidc_issuer, audience, settings.oidc_jwks_url)
        return cls(settings, database, clock, oidc)

    @property
    def wants_sign_in(self) -> bool:
        """False only on loopback with SQLite, without an identity provider, as long as nobody ever made a key."""
        if self._closed or self.settings.sign_in == "required":
            return True
        loopback = self.settings.host == "localhost" or _is_loopback(self.settings.host)
        if not (loopback and self.database.engine.dialect.name == "sqlite") or self.oidc is not None:
            self._closed.append(True)
            return True
        with self.database.reading() as tables:
            made = tables.people.any_key()
        if made:
            self._closed.append(True)
        return made

    def admit(self, request: Request) -> Principal:
        """The caller of a request.

        Raises:
            NotSignedIn, NotPermitted, TooManyRequests, Unavailable.
        """
        address = address_of(request)
        token = _token_of(request)
        if token is None:
            if not self.wants_sign_in:
                _require_from_here(request)
                return LOCAL
            principal = ANONYMOUS
            self._count(f"address {address}", self.settings.anonymous_requests_per_minute)
        else:
            principal = self._holder(token, address)
            self._count(f"key {principal.key}" if principal.key else f"member {principal.member}", self.settings.requests_per_minute)
        self._require(principal, NEEDS.get((request.method, path_of(request))))
        return principal

    def actor(self, request: Request, principal: Principal) -> Actor:
        """The caller as the audit log names it."""
        return Actor(principal, f"{request.method} {path_of(request)}", address_of(request), getattr(request.state, "request_id", None))

    def _holder(self, token: str, address: str) -> Principal:
        try:
            signed_in = self._signed_in(token)
        except (NotSignedIn, NotPermitted):
            self._count(f"address {address}", self.settings.anonymous_requests_per_minute)
            raise
        note = signed_in.note
        if note is not None:
            self.database.write(lambda tables: _note_use(tables, note))
        return signed_in.principal

    def _signed_in(self, token: str) -> SignedIn:
        now = self.clock()
        if is_key(token):
            with self.database.reading() as tables:
                return sign_in_with_key(tables, token, now)
        if self.oidc is None:
            raise NotSignedIn("bad-credentials", "expected an API key, found another token", "put an API key into PAIRMARK_API_KEY (`Authorization: Bearer pmk...`)")
        identity = self.oidc.identity(token, now.timestamp())
        with self.database.reading() as tables:
            return sign_in_with_identity(tables, identity.issuer, identity.subject)

    def _require(self, principal: Principal, needed: Permission | None) -> None:
        if needed is None or needed in principal.permissions:
            return
        if principal.via == "anonymous":
            raise NotSignedIn("not-signed-in", f"expected a caller who may {needed}, found nobody signed in", "put an API key into PAIRMARK_API_KEY (`Authorization: Bearer`)")
        raise NotPermitted(
            "not-permitted", f"expected a caller who may {needed}, found one who may {', '.join(sorted(principal.permissions)) or 'nothing'}",
            "ask an admin of your organisation for the role",
        )

    def _count(self, who: str, limit: int) -> None:
        item = RateLimitItemPerMinute(limit)
        if not self._limiter.hit(item, who):
            reset = self._limiter.get_window_stats(item, who).reset_time
            wait = max(1, min(60, int(reset - self.clock().timestamp()) + 1))
            raise TooManyRequests(
                "too-many-requests", f"expected at most {limit} requests in a minute, found more", f"wait {wait} seconds", wait
            )


def first_admin_key(database: SqlDatabase, new_id: NewId, clock: Clock) -> str | None:
    """The token of a first admin, made where nobody is a member yet; None where somebody is."""

    def work(tables: Tables) -> str | None:
        place = first_organisation(tables, clock())
        if tables.people.members(place.id):
            return None
        return admin_key(tables, "first admin", new_id, clock)

    return database.write(work)


def admin_key(tables: Tables, name: str, new_id: NewId, clock: Clock) -> str:
    """A new admin of the organisation that runs the service, and its key's token."""
    roles: tuple[Role, ...] = ("admin",)
    made = join(tables, LOCAL, new_id("member"), organisation=None, name=name, roles=roles, identity=None, now=clock())
    key = make_key(
        tables, LOCAL, member_id=made.id, label="made by the operator", scopes=None, expires_at=None, new_id=new_id, new_secret=new_secret,
        now=clock(),
    )
    return key.token


def new_secret() -> str:
    """256 random bits as text."""
    return secrets.token_urlsafe(32)


def require_known_needs(app: FastAPI) -> None:
    """Refuse to start with a call that changes something and whose needs nobody stated.

    Raises:
        TypeError: there is one.
    """
    for call in calls_of(app):
        if call.method != "GET" and (call.method, call.path) not in NEEDS:
            raise TypeError(f"expected the needs of {call.method} {call.path} in pairmark.http.access.NEEDS, found none")


def path_of(request: Request) -> str:
    """The route's path, with its parameters by name."""
    route = request.scope.get("route")
    return str(getattr(route, "path", request.url.path))


def address_of(request: Request) -> str:
    """The address that the request came from, as the server sees it."""
    return "unknown" if request.client is None else request.client.host[:64]


def _note_use(tables: Tables, key: ApiKey) -> None:
    there = tables.people.key(key.id)
    if there is not None and there.revoked_at is None:  # it may have been revoked meanwhile
        tables.people.change_key(key)


def _token_of(request: Request) -> str | None:
    said = request.headers.get("authorization")
    if said is None:
        return request.cookies.get(COOKIE) if request.method in ("GET", "HEAD") and not request.url.path.startswith("/v1/") else None
    scheme, _, token = said.partition(" ")
    if scheme.lower() != BEARER or not token.strip():
        raise NotSignedIn("bad-credentials", f"expected `Authorization: Bearer`, found {shown(scheme)}", "send an API key so")
    return token.strip()


def _require_from_here(request: Request) -> None:
    """Refuse what another site has a browser on this machine send, by a name of its own that leads here (DNS rebinding).

    Raises:
        NotPermitted: the request names another host, or comes from a page of one.
    """
    for header in ("host", "origin"):
        said = request.headers.get(header)
        if said is not None:
            host = urlsplit(said if "//" in said else f"//{said}").hostname or ""
            if host != "localhost" and not _is_loopback(host):
                raise NotPermitted(
                    "not-from-here", f"expected a request to this machine's own address, found {header} {shown(said)}",
                    "use http://127.0.0.1 or http://localhost, or make a key: pairmark people admin-key",
                )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

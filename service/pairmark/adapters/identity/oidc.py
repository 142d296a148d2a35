"""OIDC bearer tokens, validated against the provider's published keys (RFC 7519, RFC 9068, OpenID Connect Core 3.1.3.7)."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass

import httpx
import jwt
from jwt import PyJWKSet

from pairmark.app.errors import NotSignedIn, Unavailable
from pairmark.domain.errors import Malformed, one_line, shown

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by public keys only: `none` and shared secrets are never taken."""

LEEWAY_SECONDS = 30
KEYS_FRESH_SECONDS = 300
ASK_AGAIN_SECONDS = 10
"""At most this often are keys fetched again for a token whose key is not known."""
TIMEOUT_SECONDS = 5.0
MOST_BYTES = 1_000_000
LONGEST_NAME = 256


@dataclass(frozen=True)
class Identity:
    """Whom a token is about, and who says so."""

    issuer: str
    subject: str


class OidcVerifier:
    """Validates tokens of one provider for one audience. Safe to share between threads."""

    def __init__(self, issuer: str, audience: str, jwks_url: str | None = None) -> None:
        """`jwks_url` is found at the provider's `/.well-known/openid-configuration` unless it is given.

        Raises:
            Malformed: not URLs.
        """
        for url in (issuer, *(() if jwks_url is None else (jwks_url,))):
            if not url.startswith(("https://", "http://")):
                raise Malformed("bad-setting", f"expected the URL of an identity provider, found {shown(url)}", remedy="such as https://login.example.org")
        self._issuer, self._audience, self._jwks_url = issuer, audience, jwks_url
        self._lock = threading.Lock()
        self._keys: PyJWKSet | None = None
        self._fetched_at: float | None = None

    def identity(self, token: str, now: float) -> Identity:
        """Whom `token` is about at the time `now`, in seconds since 1970.

        Raises:
            NotSignedIn: a token that does not hold: wrong signature, issuer, audience or time.
            Unavailable: the provider's keys cannot be fetched.
        """
        try:
            header = jwt.get_unverified_header(token)
            key = self._key(header.get("kid"), now)
            claims = jwt.decode(
                token, key, algorithms=list(ALGORITHMS), audience=self._audience, issuer=self._issuer, leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )  # fmt: skip
        except (jwt.PyJWTError, ValueError, TypeError) as problem:
            raise NotSignedIn(
                "bad-credentials", f"expected a token of {self._issuer} that holds, found one that does not: {one_line(str(problem), 120)}",
                "sign in again at the identity provider",
            ) from None
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_NAME:
            raise NotSignedIn("bad-credentials", f"expected a subject of 1 to {LONGEST_NAME} characters, found another", "ask the operator of the identity provider")
        return Identity(self._issuer, subject)

    def _key(self, key_id: object, now: float) -> jwt.PyJWK:
        found = self._chosen(key_id, self._fresh(now, KEYS_FRESH_SECONDS))
        if found is None:  # the provider may have a new key
            found = self._chosen(key_id, self._fresh(now, ASK_AGAIN_SECONDS))
        if found is None:
            raise jwt.InvalidKeyError("no published key has this token's `kid`")
        return found

    @staticmethod
    def _chosen(key_id: object, keys: PyJWKSet) -> jwt.PyJWK | None:
        usable = [key for key in keys.keys if key.public_key_use in (None, "sig")]
        if key_id is None:
            return usable[0] if len(usable) == 1 else None
        return next((key for key in usable if key.key_id == key_id), None)

    def _fresh(self, now: float, seconds: float) -> PyJWKSet:
        with self._lock:
            if self._keys is None or self._fetched_at is None or not 0 <= now - self._fetched_at < seconds:
                self._keys, self._fetched_at = self._fetch(), now
            return self._keys

    def _fetch(self) -> PyJWKSet:
        try:
            with httpx.Client(timeout=TIMEOUT_SECONDS, follow_redirects=False, trust_env=False) as client:
                place = self._jwks_url
                if place is None:
                    place = str(_document(client, f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")["jwks_uri"])
                return PyJWKSet.from_dict(_document(client, place))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError, jwt.PyJWTError) as problem:
            raise Unavailable(
                "identity-provider-unavailable", f"expected the keys of {self._issuer}, found: {one_line(str(problem), 200)}",
                "check PAIRMARK_OIDC_ISSUER and PAIRMARK_OIDC_JWKS_URL, and that the provider answers",
            ) from problem


def _document(client: httpx.Client, url: str) -> dict[str, object]:
    with client.stream("GET", url) as response:
        response.raise_for_status()
        content = b""
        for part in response.iter_bytes():
            content += part
            if len(content) > MOST_BYTES:
                raise ValueError(f"more than {MOST_BYTES} bytes")
    value = json.loads(content)
    if not isinstance(value, dict):
        raise TypeError("not a JSON object")
    return value

"""Who a token belongs to."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pairmark.app.errors import NotPermitted, NotSignedIn
from pairmark.app.moments import moment
from pairmark.app.people import TOKEN_PREFIX, key_holds, permissions_of_key, secret_digest
from pairmark.app.people_records import ApiKey
from pairmark.app.ports import Tables
from pairmark.domain.access import Principal, permissions_of
from pairmark.domain.errors import shown

USE_NOTED_EVERY = timedelta(minutes=1)
"""A key's last use is noted at most this often."""

_no_digest = secret_digest("")


@dataclass(frozen=True)
class SignedIn:
    """A caller, and its key if that key's use is to be noted."""

    principal: Principal
    note: ApiKey | None = None


def is_key(token: str) -> bool:
    """Whether a bearer token is an API key of Pairmark's."""
    return token.startswith(f"{TOKEN_PREFIX}.")


def sign_in_with_key(tables: Tables, token: str, now: datetime) -> SignedIn:
    """The caller that an API key opens the service to.

    Raises:
        NotSignedIn: not a key that holds: unknown, wrong, expired, revoked, or of a member who left.
    """
    _, _, rest = token.partition(".")
    key_id, _, secret = rest.partition(".")
    key = tables.people.key(key_id)
    holds = hmac.compare_digest(secret_digest(secret), _no_digest if key is None else key.secret_digest)
    member = None if key is None else tables.people.member(key.member)
    if not holds or key is None or member is None or not key_holds(member, key, now):
        raise NotSignedIn(
            "bad-credentials", "expected an API key that holds, found one that is unknown, expired or revoked", "ask an admin of your organisation for a new one"
        )
    principal = Principal("key", member.organisation, member.id, permissions_of_key(member, key, now), key.id)
    stale = key.last_used_at is None or key.last_used_at <= moment(now - USE_NOTED_EVERY)
    return SignedIn(principal, replace(key, last_used_at=moment(now)) if stale else None)


def sign_in_with_identity(tables: Tables, issuer: str, subject: str) -> SignedIn:
    """The member that an identity provider vouches for.

    Raises:
        NotPermitted: nobody here has this identity.
    """
    member = tables.people.member_of_subject(issuer, subject)
    if member is None or member.removed_at is not None:
        raise NotPermitted(
            "unknown-identity", f"expected an identity that a member has, found {shown(subject)} of {shown(issuer)}",
            "an admin adds it: pairmark people add --issuer --subject (POST /v1/members) with these",
        )
    return SignedIn(Principal("token", member.organisation, member.id, permissions_of(member.roles)))

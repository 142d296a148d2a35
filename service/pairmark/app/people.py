"""Organisations, members and API keys: made, changed, ended."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime

from pairmark.app.errors import NotPermitted
from pairmark.app.moments import moment
from pairmark.app.people_records import ApiKey, Member, Organisation
from pairmark.app.ports import NewId, Tables
from pairmark.domain.access import FIRST_ORGANISATION, PERMISSIONS, Permission, Principal, Role, permissions_of
from pairmark.domain.errors import Conflict, Malformed, NotFound, shown

NewSecret = Callable[[], str]
"""A new secret of at least 128 random bits, without a dot."""

TOKEN_PREFIX = "pmk"  # noqa: S105 - not a secret
FIRST_NAME = "Local"


@dataclass(frozen=True)
class KeyMade:
    """A key, and the only copy of the token that opens it."""

    key: ApiKey
    token: str


def found_organisation(tables: Tables, organisation_id: str, name: str, now: datetime) -> Organisation:
    """A new organisation.

    Raises:
        Conflict: another one has the name.
    """
    if any(other.name == name for other in tables.people.organisations()):
        raise Conflict("organisation-exists", f"expected a name that no organisation has, found {shown(name)}", "choose another name")
    made = Organisation(organisation_id, name, moment(now))
    tables.people.add_organisation(made)
    return made


def first_organisation(tables: Tables, now: datetime) -> Organisation:
    """The organisation that runs the service, made where it is not there yet."""
    there = tables.people.organisation(FIRST_ORGANISATION)
    if there is not None:
        return there
    made = Organisation(FIRST_ORGANISATION, FIRST_NAME, moment(now))
    tables.people.add_organisation(made)
    return made


def join(
    tables: Tables,
    principal: Principal,
    member_id: str,
    *,
    organisation: str | None,
    name: str,
    roles: Collection[Role],
    identity: tuple[str, str] | None,
    now: datetime,
) -> Member:
    """A new member of the caller's organisation; of another one only if the caller's runs the service.

    `identity` is issuer and subject at an identity provider, if the member signs in there.

    Raises:
        NotFound: no such organisation, as far as the caller sees.
        Conflict: the identity is a member's already.
    """
    place = principal.owner if organisation is None else organisation
    if place == FIRST_ORGANISATION:
        first_organisation(tables, now)
    _require_seen(principal, place)
    if tables.people.organisation(place) is None:
        raise _unknown_organisation(place)
    if identity is not None:
        _refuse_taken(tables, identity, None)
    issuer, subject = (None, None) if identity is None else identity
    made = Member(member_id, place, name, _ordered(roles), issuer, subject, moment(now), None)
    tables.people.add_member(made)
    return made


def member_of_id(tables: Tables, principal: Principal, member_id: str) -> Member:
    """A member whom the caller may know: of its own organisation, or any for whoever runs the service.

    Raises:
        NotFound: there is none.
    """
    found = tables.people.member(member_id)
    if found is None or not (principal.operates or found.organisation == principal.organisation):
        raise NotFound("unknown-member", f"expected the id of a member, found {shown(member_id)}", "pairmark people list (GET /v1/members) lists them")
    return found


def change_member(
    tables: Tables,
    principal: Principal,
    member_id: str,
    *,
    name: str | None = None,
    roles: Collection[Role] | None = None,
    identity: tuple[str, str] | None = None,
) -> Member:
    """A member with another name, other roles or another identity; None leaves each as it is.

    Raises:
        NotFound: no such member.
        Conflict: the member has left, is the organisation's last admin, or the identity is taken.
    """
    there = member_of_id(tables, principal, member_id)
    _refuse_left(there)
    if roles is not None and "admin" in there.roles and "admin" not in roles:
        _refuse_last_admin(tables, there)
    if identity is not None:
        _refuse_taken(tables, identity, there.id)
    changed = replace(
        there,
        name=there.name if name is None else name,
        roles=there.roles if roles is None else _ordered(roles),
        issuer=there.issuer if identity is None else identity[0],
        subject=there.subject if identity is None else identity[1],
    )
    tables.people.change_member(changed)
    return changed


def leave(tables: Tables, principal: Principal, member_id: str, now: datetime) -> Member:
    """End a membership, and with it every key of the member. Again changes nothing.

    Raises:
        NotFound: no such member.
        Conflict: the organisation's last admin.
    """
    there = member_of_id(tables, principal, member_id)
    if there.removed_at is not None:
        return there
    if "admin" in there.roles:
        _refuse_last_admin(tables, there)
    gone = replace(there, removed_at=moment(now))
    tables.people.change_member(gone)
    return gone


def make_key(
    tables: Tables,
    principal: Principal,
    *,
    member_id: str | None,
    label: str,
    scopes: Collection[Permission] | None,
    expires_at: datetime | None,
    new_id: NewId,
    new_secret: NewSecret,
    now: datetime,
) -> KeyMade:
    """A key for the caller, or, by an admin, for another member. Its token is in the answer and nowhere else.

    `scopes` is what the key may do at most; None is everything that the member's roles carry, now and later.

    Raises:
        NotFound: no such member.
        NotPermitted: for somebody else without being an admin, or with more than the key that asks for it.
        Malformed: it would have expired already.
        Conflict: the member has left.
    """
    wanted = principal.member if member_id is None else member_id
    if wanted is None:
        raise Malformed("no-member", "expected `member`, whose key this is to be, found none", remedy="name a member; pairmark people list (GET /v1/members) lists them")
    if "administer" not in principal.permissions and wanted != principal.member:
        raise NotPermitted("not-permitted", "expected a key for the caller itself, found another member", "ask an admin of the organisation")
    member = member_of_id(tables, principal, wanted)
    _refuse_left(member)
    parent = None if principal.key is None else tables.people.key(principal.key)
    if parent is not None and parent.expires_at is not None:  # a key that ends must not beget one that outlives it
        ends = datetime.fromisoformat(parent.expires_at)
        expires_at = ends if expires_at is None else min(expires_at, ends)
    if expires_at is not None and expires_at <= now:
        raise Malformed("already-expired", f"expected `expires_at` in the future, found {moment(expires_at)}", pointer="/expires_at", remedy="choose a later time")
    chosen = tuple(each for each in PERMISSIONS if scopes is None or each in scopes)
    if parent is not None:  # a narrow key must not beget a wide one
        chosen = tuple(each for each in chosen if each in parent.scopes)
    secret = new_secret()
    key = ApiKey(
        new_id("key"), member.id, label, secret_digest(secret), chosen, moment(now), None if expires_at is None else moment(expires_at),
        None, None,
    )  # fmt: skip
    tables.people.add_key(key)
    return KeyMade(key, f"{TOKEN_PREFIX}.{key.id}.{secret}")


def end_key(tables: Tables, principal: Principal, key_id: str, now: datetime) -> ApiKey:
    """Revoke a key, one's own or, as an admin, any of the organisation. Again changes nothing.

    Raises:
        NotFound: no such key.
        NotPermitted: one of the caller's own that opens more than the key that asks.
    """
    there = tables.people.key(key_id)
    owner = None if there is None else tables.people.member(there.member)
    mine = owner is not None and owner.id == principal.member and there is not None and _covers(tables, principal, there)
    administered = owner is not None and "administer" in principal.permissions and (
        principal.operates or owner.organisation == principal.organisation
    )
    if there is not None and owner is not None and owner.id == principal.member and not (mine or administered):
        raise NotPermitted("not-permitted", "expected a key that opens at least what it ends, found a narrower one", "use a wider key, or ask an admin")
    if there is None or not (mine or administered):
        raise NotFound("unknown-key", f"expected the id of a key, found {shown(key_id)}", "pairmark people keys (GET /v1/keys) lists them")
    if there.revoked_at is not None:
        return there
    ended = replace(there, revoked_at=moment(now))
    tables.people.change_key(ended)
    return ended


def _covers(tables: Tables, principal: Principal, key: ApiKey) -> bool:
    """Whether the caller's own key may end `key`: itself, or one that opens no more."""
    own = None if principal.key is None else tables.people.key(principal.key)
    return own is None or own.id == key.id or set(key.scopes) <= set(own.scopes)


def secret_digest(secret: str) -> str:
    """What is kept of a secret. One hash is enough: secrets are 256 random bits, which nobody can try out."""
    return "sha256:" + hashlib.sha256(secret.encode()).hexdigest()


def keys_seen(tables: Tables, principal: Principal) -> list[tuple[ApiKey, Member]]:
    """The caller's own keys, an admin's organisation's, each with its member."""
    members = {member.id: member for member in tables.people.members(principal.owner)}
    return [
        (key, members[key.member]) for key in tables.people.keys(principal.owner)
        if "administer" in principal.permissions or key.member == principal.member
    ]  # fmt: skip


def permissions_of_key(member: Member, key: ApiKey, now: datetime) -> frozenset[Permission]:
    """What a key opens now: its scopes, as far as its member's roles carry them today; nothing once it or the membership ended."""
    return permissions_of(member.roles) & frozenset(key.scopes) if key_holds(member, key, now) else frozenset()


def key_holds(member: Member, key: ApiKey, now: datetime) -> bool:
    """Whether a key is neither revoked nor expired nor of a member who left."""
    expired = key.expires_at is not None and key.expires_at <= moment(now)
    return member.removed_at is None and key.revoked_at is None and not expired


def _ordered(roles: Collection[Role]) -> tuple[Role, ...]:
    return tuple(sorted(set(roles)))


def _require_seen(principal: Principal, organisation: str) -> None:
    if not principal.operates and organisation != principal.organisation:
        raise _unknown_organisation(organisation)


def _unknown_organisation(organisation: str) -> NotFound:
    return NotFound("unknown-organisation", f"expected the id of an organisation, found {shown(organisation)}", "pairmark people organisations (GET /v1/organisations) lists them")


def _refuse_left(member: Member) -> None:
    if member.removed_at is not None:
        raise Conflict("member-left", f"expected a member, found that {member.id} left at {member.removed_at}", "add the person again as a new member")


def _refuse_last_admin(tables: Tables, member: Member) -> None:
    others = (
        other for other in tables.people.members(member.organisation)
        if other.id != member.id and other.removed_at is None and "admin" in other.roles
    )  # fmt: skip
    if next(others, None) is None:
        raise Conflict("last-admin", "expected another admin to stay, found the organisation's last one", "make another member an admin first")


def _refuse_taken(tables: Tables, identity: tuple[str, str], but: str | None) -> None:
    there = tables.people.member_of_subject(*identity)
    if there is not None and there.id != but:
        raise Conflict("identity-taken", f"expected an identity that no member has, found {shown(identity[1])} of {shown(identity[0])}", "link another identity, or remove that member first")

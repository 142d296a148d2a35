"""Shapes of requests and answers about people."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from pairmark.domain.access import Permission, Role, Via
from pairmark.domain.documents.base import DISTINCT, Document, Identifier, JsonValue, Strict, Text, Time

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Identity = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]+$")]


class OrganisationRequest(Document):
    """A new organisation."""

    title: ClassVar[str] = "organisation request"

    name: Name


class OrganisationAnswer(Strict):
    id: Identifier
    name: Text
    created_at: Time


class OrganisationList(Strict):
    items: tuple[OrganisationAnswer, ...]


class MemberIdentity(Strict):
    """What an identity provider calls a member."""

    issuer: Identity
    subject: Identity


class MemberRequest(Document):
    """A new member. `organisation` is the caller's own unless the caller's runs the service."""

    title: ClassVar[str] = "member request"

    name: Name
    roles: Annotated[tuple[Role, ...], Field(min_length=1, max_length=5), DISTINCT]
    organisation: Identifier | None = None
    identity: MemberIdentity | None = None


class MemberChange(Document):
    """What is to be different; a key that is left out leaves its part as it is."""

    title: ClassVar[str] = "member change"

    name: Name | None = None
    roles: Annotated[tuple[Role, ...], Field(min_length=1, max_length=5), DISTINCT] | None = None
    identity: MemberIdentity | None = None


class MemberAnswer(Strict):
    """A member; `removed_at` is null while it is one."""

    id: Identifier
    organisation: Identifier
    name: Text
    roles: tuple[Role, ...]
    identity: MemberIdentity | None
    created_at: Time
    removed_at: Time | None


class MemberList(Strict):
    items: tuple[MemberAnswer, ...]


class KeyRequest(Document):
    """A new API key. Without `member` it is the caller's own; without `scopes` it may do what its member may."""

    title: ClassVar[str] = "key request"

    label: Name
    member: Identifier | None = None
    scopes: Annotated[tuple[Permission, ...], Field(min_length=1, max_length=5), DISTINCT] | None = None
    expires_at: Time | None = None


class KeyAnswer(Strict):
    """A key without its secret. `scopes` is what it may do at most, `permissions` what of that its member's roles let it do now."""

    id: Identifier
    member: Identifier
    label: Text
    scopes: tuple[Permission, ...]
    permissions: tuple[Permission, ...]
    created_at: Time
    expires_at: Time | None
    last_used_at: Time | None
    revoked_at: Time | None


class KeyMadeAnswer(KeyAnswer):
    """A new key, with the only copy of its token; null where an earlier answer, which had it, is replayed."""

    token: Text | None


class KeyList(Strict):
    items: tuple[KeyAnswer, ...]


class CallerAnswer(Strict):
    """Whom the service takes the caller for."""

    via: Via
    organisation: Identifier | None
    member: Identifier | None
    key: Identifier | None
    permissions: tuple[Permission, ...]


class AuditItem(Strict):
    """One change of state; `changes` are rows before and after, secrets left out."""

    id: Identifier
    at: Time
    organisation: Identifier | None
    member: Identifier | None
    key: Identifier | None
    via: Text
    address: Text | None
    request: Text | None
    action: Text
    changes: tuple[dict[str, JsonValue], ...]


class AuditPage(Strict):
    items: tuple[AuditItem, ...]
    next: str | None

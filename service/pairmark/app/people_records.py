"""People as the use cases see them: organisations, members, their API keys, and what they changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pairmark.domain.access import EVERYTHING, Permission, Principal, Role, Viewer

Episodes = Literal["public", "private"]


@dataclass(frozen=True)
class Organisation:
    """Who runs belong to."""

    id: str
    name: str
    created_at: str


@dataclass(frozen=True)
class Member:
    """A person or a machine of one organisation. `issuer` and `subject` are what an identity provider calls it."""

    id: str
    organisation: str
    name: str
    roles: tuple[Role, ...]
    issuer: str | None
    subject: str | None
    created_at: str
    removed_at: str | None


@dataclass(frozen=True)
class ApiKey:
    """A member's key; `secret_digest` is all that is kept of its secret. `scopes` narrow what the member's roles carry."""

    id: str
    member: str
    label: str
    secret_digest: str
    scopes: tuple[Permission, ...]
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None


@dataclass(frozen=True)
class Publication:
    """A certificate that everybody may read. `episodes` says whether its runs' episodes may be read too."""

    certificate: str
    episodes: Episodes
    at: str


@dataclass(frozen=True)
class AuditEntry:
    """One change of state: who, through what, when, from where, and each changed row before and after."""

    id: str
    at: str
    organisation: str | None
    member: str | None
    key: str | None
    via: str
    address: str | None
    request: str | None
    action: str
    changes: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class AuditQuery:
    """Which entries; None leaves a field open. `organisation` None is every organisation's."""

    organisation: str | None
    member: str | None = None
    action: str | None = None


@dataclass(frozen=True)
class Actor:
    """A caller in one request, as the audit log names it."""

    principal: Principal
    action: str
    address: str | None = None
    request: str | None = None
    everywhere: bool = False
    """Whether this call has to see every organisation's records: only to end what rests on a defect."""

    @property
    def viewer(self) -> Viewer:
        """What the call sees."""
        return EVERYTHING if self.everywhere else self.principal.viewer


class People(Protocol):
    """Organisations, members, keys, publications."""

    def add_organisation(self, organisation: Organisation) -> None: ...
    def organisation(self, organisation_id: str) -> Organisation | None: ...
    def organisations(self) -> tuple[Organisation, ...]: ...
    def add_member(self, member: Member) -> None: ...
    def member(self, member_id: str) -> Member | None: ...
    def member_of_subject(self, issuer: str, subject: str) -> Member | None: ...
    def members(self, organisation: str) -> tuple[Member, ...]:
        """Every member there is or was, in the order of joining."""
        ...

    def change_member(self, member: Member) -> None:
        """Store a member's new name, roles, identity or end."""
        ...

    def add_key(self, key: ApiKey) -> None: ...
    def key(self, key_id: str) -> ApiKey | None: ...
    def keys(self, organisation: str) -> tuple[ApiKey, ...]: ...
    def change_key(self, key: ApiKey) -> None:
        """Store a key's last use or end."""
        ...

    def any_key(self) -> bool:
        """Whether a key was ever made: from then on nobody comes in without one."""
        ...

    def publish(self, publication: Publication) -> None: ...
    def publication(self, certificate: str) -> Publication | None: ...
    def episodes_open(self, run_id: str) -> bool:
        """Whether the caller may read a run's episodes, not only its document."""
        ...

    def own_run(self, run_id: str) -> bool:
        """Whether a run is the caller's organisation's (or the caller sees everything)."""
        ...

    def own_certificate(self, certificate_id: str) -> bool:
        """Whether a certificate is the caller's organisation's."""
        ...



class Audit(Protocol):
    """What was changed; entries are only added."""

    def page(self, query: AuditQuery, after: tuple[str, str] | None, limit: int) -> tuple[AuditEntry, ...]:
        """Up to `limit` entries before (at, id), newest first."""
        ...

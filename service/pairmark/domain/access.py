"""Who may do what: roles, the permissions they carry, and what a caller sees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Permission = Literal["read", "submit", "register", "review", "administer"]
Role = Literal["reader", "submitter", "maintainer", "reviewer", "admin"]
Via = Literal["anonymous", "local", "key", "token"]

PERMISSIONS: tuple[Permission, ...] = get_args(Permission)
ROLES: tuple[Role, ...] = get_args(Role)

CARRIES: Mapping[Role, frozenset[Permission]] = {
    "reader": frozenset({"read"}),
    "submitter": frozenset({"read", "submit"}),
    "maintainer": frozenset({"read", "register"}),
    "reviewer": frozenset({"read", "review"}),
    "admin": frozenset(PERMISSIONS),
}
"""Permissions of each role. No role but `admin` contains another beyond reading: who submits does not review."""

FIRST_ORGANISATION = "local"
"""Id of the organisation that runs the service; what was stored before anybody signed in is its own."""


def permissions_of(roles: Iterable[Role]) -> frozenset[Permission]:
    """Everything that any of `roles` carries; nothing without a role."""
    return frozenset[Permission]().union(*(CARRIES[role] for role in roles))


@dataclass(frozen=True)
class Viewer:
    """Whose private records are seen beside the published ones: one organisation's, nobody's (None), or `everything`."""

    organisation: str | None
    everything: bool = False


EVERYTHING = Viewer(None, everything=True)
PUBLISHED_ONLY = Viewer(None)


@dataclass(frozen=True)
class Principal:
    """A caller. `organisation` and `member` are null for anonymous ones; `key` is the id of the API key used."""

    via: Via
    organisation: str | None
    member: str | None
    permissions: frozenset[Permission]
    key: str | None = None

    @property
    def viewer(self) -> Viewer:
        """What this caller sees. Without the permission to read, nobody's private records."""
        if self.via == "local":
            return EVERYTHING
        return Viewer(self.organisation) if "read" in self.permissions else PUBLISHED_ONLY

    @property
    def owner(self) -> str:
        """The organisation that what this caller stores belongs to."""
        return FIRST_ORGANISATION if self.organisation is None else self.organisation

    @property
    def operates(self) -> bool:
        """True for the organisation that runs the service."""
        return self.via == "local" or self.organisation == FIRST_ORGANISATION


ANONYMOUS = Principal("anonymous", None, None, frozenset())
LOCAL = Principal("local", FIRST_ORGANISATION, None, frozenset(PERMISSIONS))
"""The caller of a service on loopback that nobody signs in to."""

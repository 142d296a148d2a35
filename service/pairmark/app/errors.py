"""What a use case may refuse with, beyond the domain's own errors."""

from __future__ import annotations

from dataclasses import dataclass

from pairmark.domain.errors import Conflict, NotFound, Refusal


@dataclass(frozen=True)
class Place:
    """One place of a request that is part of the trouble. `pointer` is an RFC 6901 JSON pointer into its body."""

    pointer: str
    detail: str


@dataclass(eq=False)
class ConflictAt(Conflict):
    """A conflict that stands at known places of the request."""

    places: tuple[Place, ...] = ()


@dataclass(eq=False)
class NotFoundAt(NotFound):
    """A reference in a request's body that nothing is stored under."""

    pointer: str | None = None


@dataclass(eq=False)
class InFlight(Conflict):
    """The same request is being worked on; ask again after `retry_after` seconds."""

    retry_after: int = 1


@dataclass(eq=False)
class Unavailable(Refusal):
    """The database or the object store cannot serve now (HTTP 503); nothing was stored, unless the message says so."""

    retry_after: int = 5


class NotSignedIn(Refusal):
    """No credentials, or none that hold (HTTP 401). Says nothing of which part was wrong."""


class NotPermitted(Refusal):
    """A known caller without the permission (HTTP 403)."""


@dataclass(eq=False)
class TooManyRequests(Refusal):
    """A caller over its limit (HTTP 429); ask again after `retry_after` seconds."""

    retry_after: int = 1


class NotCurrent(Refusal):
    """A change to something that is not as the caller read it (HTTP 412), or that the caller does not say it read (428)."""

"""Idempotency keys: a request under a key is done once; the same request again gets the same answer.

The key is reserved in a transaction of its own, so that a second request sees it at once. The answer is kept in the very
transaction that does the work, so that an answer is kept if and only if the work is done. A refused request leaves no key behind.
A reservation whose owner died is taken over after `lease`; the token keeps a slow owner from finishing after that.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from pairmark.app.errors import InFlight, Unavailable
from pairmark.app.moments import moment
from pairmark.app.ports import Clock, Database, KeptAnswer, Reservation, Tables
from pairmark.domain.errors import Conflict

PreparedT = TypeVar("PreparedT")


@dataclass(frozen=True)
class KeyedRequest:
    """A request under a key. `fingerprint` is a digest of all that makes it this request; `token` is new for every call."""

    key: str
    fingerprint: str
    token: str


@dataclass(frozen=True)
class Answered:
    """An answer; `replayed` if it was kept from an earlier call."""

    answer: KeptAnswer
    replayed: bool


def answer_once(
    database: Database,
    request: KeyedRequest | None,
    prepare: Callable[[], PreparedT],
    work: Callable[[Tables, PreparedT], KeptAnswer],
    *,
    clock: Clock,
    lease: timedelta,
    kept: timedelta,
) -> Answered:
    """Do `prepare` outside any transaction and `work` inside one, once per key.

    Raises:
        Conflict: the key was used for another request.
        InFlight: the same request is being worked on.
    """
    if request is None:
        prepared = prepare()
        return Answered(database.write(lambda tables: work(tables, prepared)), False)
    earlier = database.write(lambda tables: _reserve(tables, request, clock, lease, kept))
    if earlier is not None:
        return Answered(earlier, True)
    try:
        prepared = prepare()
        return Answered(database.write(lambda tables: _finish(tables, request, work(tables, prepared))), False)
    except BaseException:
        with suppress(Unavailable):  # then the lease frees the key
            database.write(lambda tables: tables.keys.release(request.key, request.token))
        raise


def _reserve(tables: Tables, request: KeyedRequest, clock: Clock, lease: timedelta, kept: timedelta) -> KeptAnswer | None:
    now = clock()
    tables.keys.forget_before(moment(now - kept))
    there = tables.keys.find(request.key)
    if there is not None:
        if there.fingerprint != request.fingerprint:
            raise Conflict(
                "idempotency-key-reused", "expected the request that this Idempotency-Key was first used for, found another one",
                "use a new key for a new request",
            )
        if there.answer is not None:
            return there.answer
        if there.reserved_at > moment(now - lease):
            raise InFlight("request-in-flight", "expected the same request not to be running, found it running", "ask again a little later")
    tables.keys.reserve(Reservation(request.key, request.fingerprint, request.token, moment(now), None))
    return None


def _finish(tables: Tables, request: KeyedRequest, answer: KeptAnswer) -> KeptAnswer:
    if not tables.keys.finish(request.key, request.token, answer):
        raise InFlight("request-in-flight", "expected to hold the Idempotency-Key, found it taken over", "ask again a little later")
    return answer

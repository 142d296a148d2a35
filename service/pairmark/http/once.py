"""`Idempotency-Key`: POST routes answer through here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, TypeVar

from fastapi import Depends, Header, Request, Response

from pairmark.app.answer_once import KeyedRequest, answer_once
from pairmark.app.ports import KeptAnswer, Tables
from pairmark.domain.access import Principal
from pairmark.domain.canonical import digest_of, digest_of_bytes
from pairmark.domain.errors import Malformed, shown
from pairmark.http.answers import sent
from pairmark.http.bodies import WithJson
from pairmark.http.services import Services, WithServices

PreparedT = TypeVar("PreparedT")

_key = re.compile(r"[\x21-\x7e]{1,255}")


@dataclass(frozen=True)
class Once:
    """Does a POST once per key: see `answer_once`."""

    services: Services
    request: KeyedRequest | None

    def answer(self, work: Callable[[Tables], KeptAnswer]) -> Response:
        """Do `work` in one transaction and send its answer, or send the answer kept from an earlier call."""
        return self.answer_prepared(lambda: None, lambda tables, _: work(tables))

    def answer_prepared(self, prepare: Callable[[], PreparedT], work: Callable[[Tables, PreparedT], KeptAnswer]) -> Response:
        """The same, with slow work that is done before the transaction."""
        settings = self.services.settings
        answered = answer_once(
            self.services.database, self.request, prepare, work, clock=self.services.clock,
            lease=timedelta(seconds=settings.key_lease_seconds), kept=timedelta(days=settings.key_days),
        )
        return sent(answered)


def once_of(
    request: Request,
    body: WithJson,
    services: WithServices,
    idempotency_key: Annotated[
        str | None, Header(description="Same key and body: the same answer again. Same key, other body: 409.")
    ] = None,
) -> Once:
    """The key of this request, if it has one."""
    if idempotency_key is None:
        return Once(services, None)
    if _key.fullmatch(idempotency_key) is None:
        raise Malformed(
            "bad-idempotency-key", f"expected an Idempotency-Key of 1 to 255 visible ASCII characters, found {shown(idempotency_key)}",
            remedy="send a random text, such as a UUID",
        )
    target = f"{request.url.path}?{request.url.query}"
    fingerprint = digest_of([request.method, target, digest_of_bytes(body.data)])
    return Once(services, KeyedRequest(_key_of(services.principal, idempotency_key), fingerprint, services.new_id("request")))


def _key_of(caller: Principal, key: str) -> str:
    """Each caller's keys are its own: a guessed one must not replay another's answer."""
    return key if caller.via == "local" else digest_of(["idempotency", caller.organisation, caller.member, key])


WithOnce = Annotated[Once, Depends(once_of)]

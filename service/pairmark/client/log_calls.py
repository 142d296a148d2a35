"""Calls about the transparency log, and the standing of certificates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar
from urllib.parse import quote
from uuid import uuid4

from pydantic import BaseModel

from pairmark.client.connection import Call, Connection, Reply
from pairmark.domain.canonical import canonical_bytes
from pairmark.http.log_models import (
    CascadeAnswer,
    LogEntries,
    LogItem,
    PublishedAnswer,
    StandingAnswer,
    StatusChangeAnswer,
)
from pairmark.provenance.log_export import export_lines
from pairmark.provenance.note import decode_base64

ModelT = TypeVar("ModelT", bound=BaseModel)


class LogCalls:
    """One method for each call."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def checkpoint(self) -> bytes:
        """The newest signed head."""
        return self._connection.fetch("/v1/log/checkpoint")

    def trust(self) -> bytes:
        """`trust.json`."""
        return self._connection.fetch("/v1/log/trust")

    def entries(self, start: int, below: int) -> Iterator[LogItem]:
        """Entries from `start` on, as long as their index lies below `below`, page by page behind the scenes."""
        following: int | None = start
        while following is not None and following < below:
            call = Call("GET", "/v1/log/entries", parameters={"start": following})
            page = self._connection.ask(call, LogEntries).model
            yield from (item for item in page.items if item.index < below)
            following = page.next

    def export(self) -> Iterator[bytes]:
        """Lines of `log.jsonl`: the log up to its newest checkpoint."""
        checkpoint = self.checkpoint()
        size = int(checkpoint.split(b"\n", 2)[1])
        lines = (
            (canonical_bytes(item.entry), None if item.envelope is None else decode_base64(item.envelope))
            for item in self.entries(0, size)
        )
        return export_lines(lines, checkpoint)

    def bundle(self, certificate_id: str) -> bytes:
        """`certificate.json`."""
        return self._connection.fetch(f"{_at(certificate_id)}/bundle")

    def badge(self, certificate_id: str) -> bytes:
        """The certificate's status as SVG."""
        return self._connection.fetch(f"{_at(certificate_id)}/badge")

    def status(self, certificate_id: str, size: int | None = None) -> Reply[StandingAnswer]:
        """What became of a certificate."""
        parameters = {} if size is None else {"size": size}
        return self._connection.ask(Call("GET", f"{_at(certificate_id)}/status", parameters=parameters), StandingAnswer)

    def publish(self, certificate_id: str, *, key: str | None = None) -> Reply[PublishedAnswer]:
        """The receipt of a certificate."""
        return self._post(f"{_at(certificate_id)}/publish", {}, PublishedAnswer, key)

    def revoke(self, certificate_id: str, reason: str, note: str | None = None, *, key: str | None = None) -> Reply[StatusChangeAnswer]:
        """Revoke a certificate."""
        return self._post(f"{_at(certificate_id)}/revoke", {"reason": reason, "note": note}, StatusChangeAnswer, key)

    def supersede(
        self, certificate_id: str, by: str, reason: str, note: str | None = None, *, key: str | None = None
    ) -> Reply[StatusChangeAnswer]:
        """Put another certificate in the place of one."""
        return self._post(f"{_at(certificate_id)}/supersede", {"by": by, "reason": reason, "note": note}, StatusChangeAnswer, key)

    def cascade(
        self, reason: str, digest: str, *, dry_run: bool, note: str | None = None, key: str | None = None
    ) -> Reply[CascadeAnswer]:
        """List, or revoke, all that rests on a defect."""
        body = {"reason": reason, "digest": digest, "dry_run": dry_run, "note": note}
        return self._post("/v1/cascades", body, CascadeAnswer, key)

    def _post(self, path: str, body: dict[str, Any], model: type[ModelT], key: str | None) -> Reply[ModelT]:
        headers = {"Content-Type": "application/json", "Idempotency-Key": uuid4().hex if key is None else key}
        return self._connection.ask(Call("POST", path, lambda: canonical_bytes(body), headers), model)


def _at(certificate_id: str) -> str:
    return f"/v1/certificates/{quote(certificate_id, safe=':')}"

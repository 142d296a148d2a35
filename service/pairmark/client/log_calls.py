"""Calls about the transparency log, and the standing of certificates."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from urllib.parse import quote

from pairmark.client.steps import Call, Reply, Steps, ask, asked, fetch, get, post
from pairmark.client.verbs import Awaited, Listing, Paged, Verb, Waiting
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


class LogVerbs:
    """One method for each call."""

    @Verb
    def checkpoint(self) -> Steps[bytes]:
        """The newest signed head."""
        return (yield from fetch("/v1/log/checkpoint"))

    @Verb
    def trust(self) -> Steps[bytes]:
        """`trust.json`."""
        return (yield from fetch("/v1/log/trust"))

    @Listing
    def entries(self, start: int, below: int) -> Paged[LogItem]:
        """Entries from `start` on, as long as their index lies below `below`, page by page behind the scenes."""

        def read(call: Call) -> Steps[tuple[Sequence[LogItem], Call | None]]:
            page = yield from asked(call, LogEntries)
            items = [item for item in page.items if item.index < below]
            return items, None if page.next is None or page.next >= below else get("/v1/log/entries", {"start": page.next})

        return Paged(get("/v1/log/entries", {"start": start}), read)

    @Verb
    def bundle(self, certificate_id: str) -> Steps[bytes]:
        """`certificate.json`."""
        return (yield from fetch(f"{_at(certificate_id)}/bundle"))

    @Verb
    def badge(self, certificate_id: str) -> Steps[bytes]:
        """The certificate's status as SVG."""
        return (yield from fetch(f"{_at(certificate_id)}/badge"))

    @Verb
    def status(self, certificate_id: str, size: int | None = None) -> Steps[Reply[StandingAnswer]]:
        """What became of a certificate."""
        return (yield from ask(get(f"{_at(certificate_id)}/status", {"size": size}), StandingAnswer))

    @Verb
    def publish(self, certificate_id: str, *, episodes: str = "public", key: str | None = None) -> Steps[Reply[PublishedAnswer]]:
        """Let everybody read a certificate, and, if `episodes` is public, its episodes; its receipt."""
        return (yield from ask(post(f"{_at(certificate_id)}/publish", canonical_bytes({"episodes": episodes}), key), PublishedAnswer))

    @Verb
    def revoke(self, certificate_id: str, reason: str, note: str | None = None, *, key: str | None = None) -> Steps[Reply[StatusChangeAnswer]]:
        """Revoke a certificate."""
        body = canonical_bytes({"reason": reason, "note": note})
        return (yield from ask(post(f"{_at(certificate_id)}/revoke", body, key), StatusChangeAnswer))

    @Verb
    def supersede(
        self, certificate_id: str, by: str, reason: str, note: str | None = None, *, key: str | None = None
    ) -> Steps[Reply[StatusChangeAnswer]]:
        """Put another certificate in the place of one."""
        body = canonical_bytes({"by": by, "reason": reason, "note": note})
        return (yield from ask(post(f"{_at(certificate_id)}/supersede", body, key), StatusChangeAnswer))

    @Verb
    def cascade(
        self, reason: str, digest: str, *, dry_run: bool, note: str | None = None, key: str | None = None
    ) -> Steps[Reply[CascadeAnswer]]:
        """List, or revoke, all that rests on a defect."""
        body = canonical_bytes({"reason": reason, "digest": digest, "dry_run": dry_run, "note": note})
        return (yield from ask(post("/v1/cascades", body, key), CascadeAnswer))


class LogCalls(LogVerbs, Waiting):
    """Calls that wait."""

    def export(self) -> Iterator[bytes]:
        """Lines of `log.jsonl`: the log up to its newest checkpoint."""
        checkpoint = self.checkpoint()
        return export_lines(_leaves(self.entries(0, _size_of(checkpoint))), checkpoint)


class AsyncLogCalls(LogVerbs, Awaited):
    """Calls that are awaited."""

    async def export(self) -> AsyncIterator[bytes]:
        """Lines of `log.jsonl`: the log up to its newest checkpoint, held in memory."""
        checkpoint = await self.checkpoint()
        items = [item async for item in self.entries(0, _size_of(checkpoint))]
        for line in export_lines(_leaves(items), checkpoint):
            yield line


def _leaves(items: Iterable[LogItem]) -> Iterator[tuple[bytes, bytes | None]]:
    for item in items:
        yield canonical_bytes(item.entry), None if item.envelope is None else decode_base64(item.envelope)


def _size_of(checkpoint: bytes) -> int:
    return int(checkpoint.split(b"\n", 2)[1])


def _at(certificate_id: str) -> str:
    return f"/v1/certificates/{quote(certificate_id, safe=':')}"

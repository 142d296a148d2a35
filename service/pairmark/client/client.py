"""One method for each verb of the service. Documents go out as they are written; answers come back as models."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote
from uuid import uuid4

import httpx

from pairmark.client import steps
from pairmark.client.connection import AsyncConnection, Connection
from pairmark.client.errors import NoAnswer
from pairmark.client.ledger import TYPE, OutgoingLedger
from pairmark.client.log_calls import AsyncLogCalls, LogCalls
from pairmark.client.people_calls import AsyncPeopleCalls, PeopleCalls
from pairmark.client.steps import Call, Pause, Reply, Steps, answered, ask, get, post, put
from pairmark.client.uploading import PIECE_BYTES, Progress, upload
from pairmark.client.verbs import Awaited, Listing, Paged, Verb, Waiting
from pairmark.client.webhook_calls import AsyncWebhookCalls, WebhookCalls
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.comparison import Comparison, ComparisonSet
from pairmark.domain.documents.evaluation_plan import EvaluationPlan
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.documents.suite_diff import SuiteDiff
from pairmark.http.models import (
    AggregateAnswer,
    CertificateAnswer,
    CertificationAnswer,
    HistoryPage,
    RegisteredSuite,
    RunAnswer,
    SuiteItem,
    SuitePage,
)

Waits = Callable[[CertificationAnswer, bool], None]
"""Told how far a certification is, and whether the call that asks queued it."""


class Verbs:
    """What clients of both kinds can do."""

    @Verb
    def register_suite(self, manifest: bytes, *, key: str | None = None) -> Steps[Reply[RegisteredSuite]]:
        """Register a manifest."""
        return (yield from ask(post("/v1/suites", manifest, key), RegisteredSuite))

    @Listing
    def suites(self, name: str | None = None) -> Paged[SuiteItem]:
        """All labels, page by page behind the scenes."""

        def read(call: Call) -> Steps[tuple[Sequence[SuiteItem], Call | None]]:
            page = (yield from ask(call, SuitePage)).model
            return page.items, None if page.next is None else get("/v1/suites", {"name": name, "cursor": page.next})

        return Paged(get("/v1/suites", {"name": name}), read)

    @Verb
    def suite(self, digest: str) -> Steps[Reply[SuiteManifest]]:
        """The manifest under a digest."""
        return (yield from ask(get(f"/v1/suites/{_part(digest)}"), SuiteManifest))

    @Verb
    def suite_diff(self, digest: str, other: str, *, certificates: bool = False) -> Steps[Reply[SuiteDiff]]:
        """What changed between two suite versions; with the standing certificates over either if asked for."""
        asked = {"certificates": "true"} if certificates else {}
        return (yield from ask(get(f"/v1/suites/{_part(digest)}/diff/{_part(other)}", asked), SuiteDiff))

    @Verb
    def announce_run(self, run: bytes, *, key: str | None = None) -> Steps[Reply[RunAnswer]]:
        """Announce a run, or hand a complete one in after the fact."""
        return (yield from ask(post("/v1/runs", run, key), RunAnswer))

    @Verb
    def amend_run(self, run_id: str, run: bytes) -> Steps[Reply[RunAnswer]]:
        """Supply a run's full document."""
        return (yield from ask(put(_run(run_id), run, 300.0), RunAnswer))

    @Verb
    def run(self, run_id: str) -> Steps[Reply[RunAnswer]]:
        """A run."""
        return (yield from ask(get(_run(run_id)), RunAnswer))

    @Verb
    def upload_episodes(
        self, run_id: str, ledger: OutgoingLedger, *, progress: Progress | None = None, piece_bytes: int = PIECE_BYTES
    ) -> Steps[Reply[RunAnswer]]:
        """Upload a run's ledger, which seals it; `ledger` comes from `outgoing_ledger`.

        More than `piece_bytes` go in pieces, and go on from where a connection broke, also after a new start of this program.
        """
        return (yield from upload(_run(run_id), ledger, progress, piece_bytes))

    @Verb
    def episodes(self, run_id: str, target: Path) -> Steps[None]:
        """Write a sealed run's canonical ledger to a file, which appears whole or not at all."""
        made = target.with_name(f".{target.name}.{uuid4().hex}")
        try:
            with made.open("xb") as file:
                yield from answered(Call("GET", f"{_run(run_id)}/episodes", headers={"Accept": TYPE}, into=file))
            made.replace(target)
        finally:
            made.unlink(missing_ok=True)

    @Verb
    def certify(
        self, benign: str, attacked: str, baseline: str | None = None, policy: str = "standard/1", *, key: str | None = None, wait: float = 3600,
        waiting: Waits | None = None,
    ) -> Steps[Reply[CertificationAnswer]]:
        """Certify a pair of runs; waits up to `wait` seconds for a large one. A refusal is an answer too.

        `waiting` is told of each answer while it waits, and whether this very call queued it.
        """
        asked: dict[str, Any] = {"benign": benign, "attacked": attacked, "policy": policy}
        if baseline is not None:
            asked["baseline"] = baseline
        return (yield from _judged(post("/v1/certifications", canonical_bytes(asked), key, wait), wait, waiting))

    @Verb
    def cancel_certification(self, certification_id: str) -> Steps[Reply[CertificationAnswer]]:
        """Cancel a certification that waits or is being worked on. One that is done is refused (409)."""
        return (yield from ask(Call("DELETE", _certification(certification_id)), CertificationAnswer))

    @Verb
    def certification(self, certification_id: str) -> Steps[Reply[CertificationAnswer]]:
        """A verdict."""
        return (yield from ask(get(_certification(certification_id)), CertificationAnswer))

    @Verb
    def disprove(
        self, certification_id: str, text: str, digests: tuple[str, ...] = (), *, key: str | None = None, wait: float = 3600
    ) -> Steps[Reply[CertificationAnswer]]:
        """Record a reviewer's evidence against a held `sign-plausible`."""
        body = canonical_bytes({"text": text, "digests": list(digests)})
        return (yield from _judged(post(f"{_certification(certification_id)}/disproof", body, key, wait), wait))

    @Verb
    def certificate(self, certificate_id: str) -> Steps[Reply[CertificateAnswer]]:
        """A certificate and the report it releases."""
        return (yield from ask(get(f"/v1/certificates/{_part(certificate_id)}"), CertificateAnswer))

    @Verb
    def compare(self, left: str, others: Sequence[str], *, reweight: str | None = None) -> Steps[Reply[Comparison] | Reply[ComparisonSet]]:
        """`left` against one other certificate, or against each of several."""
        call = get("/v1/comparisons", {"left": left, "right": list(others), "reweight": reweight})
        if len(others) == 1:
            return (yield from ask(call, Comparison))
        return (yield from ask(call, ComparisonSet))

    @Verb
    def plan(self, request: bytes, *, key: str | None = None) -> Steps[Reply[EvaluationPlan]]:
        """What an evaluation shows and costs."""
        return (yield from ask(post("/v1/plans", request, key), EvaluationPlan))

    @Verb
    def submit_aggregate(self, aggregate: bytes, *, key: str | None = None) -> Steps[Reply[AggregateAnswer]]:
        """Keep counts without episodes for the record."""
        return (yield from ask(post("/v1/aggregates", aggregate, key), AggregateAnswer))

    @Verb
    def aggregate(self, aggregate_id: str) -> Steps[Reply[AggregateAnswer]]:
        """An aggregate, and why it has no certificate."""
        return (yield from ask(get(f"/v1/aggregates/{_part(aggregate_id)}"), AggregateAnswer))

    @Verb
    def history(self, /, suite: str, **filters: str | int | None) -> Steps[Reply[HistoryPage]]:
        """A page of certificates over one mix; `filters` are the call's own parameters."""
        return (yield from ask(get("/v1/history", {"suite": suite, **filters}), HistoryPage))


class Client(Verbs, Waiting):
    """A service at `base_url`, such as `http://127.0.0.1:8000`. Use as a context, or `close` it.

    Calls that are safe to repeat (reading, PUT, DELETE, POST under a key) are repeated a few times when the connection breaks or the
    service says that it is busy.
    """

    def __init__(self, base_url: str, *, timeout: float = 60.0, transport: httpx.BaseTransport | None = None, api_key: str | None = None) -> None:
        """`timeout` bounds every single wait for the service, in seconds; `api_key` (or a bearer token) says who calls."""
        super().__init__(Connection(base_url, timeout=timeout, transport=transport, key=api_key))
        self.people = PeopleCalls(self._connection)
        """Calls about members, API keys and the audit log."""
        self.webhooks = WebhookCalls(self._connection)
        """Calls about webhooks."""
        self.log = LogCalls(self._connection)
        """Calls about the transparency log, and the standing of certificates."""

    def close(self) -> None:
        """Close the connections."""
        self._connection.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncClient(Verbs, Awaited):
    """The same, awaited: every method of `Client` as a coroutine, every list as an asynchronous iterator. Use as an asynchronous context."""

    def __init__(
        self, base_url: str, *, timeout: float = 60.0, transport: httpx.AsyncBaseTransport | None = None, api_key: str | None = None
    ) -> None:
        """`timeout` bounds every single wait for the service, in seconds; `api_key` (or a bearer token) says who calls."""
        super().__init__(AsyncConnection(base_url, timeout=timeout, transport=transport, key=api_key))
        self.people = AsyncPeopleCalls(self._connection)
        """Calls about members, API keys and the audit log."""
        self.webhooks = AsyncWebhookCalls(self._connection)
        """Calls about webhooks."""
        self.log = AsyncLogCalls(self._connection)
        """Calls about the transparency log, and the standing of certificates."""

    async def close(self) -> None:
        """Close the connections."""
        await self._connection.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


def _judged(call: Call, seconds: float, waiting: Waits | None = None) -> Steps[Reply[CertificationAnswer]]:
    """The verdict that a call asks for, waited for where it is queued."""
    until, pause = time.monotonic() + seconds, steps.FIRST_PAUSE_SECONDS
    reply = yield from ask(call, CertificationAnswer)
    made = reply.new
    while reply.model.state == "waiting":
        if waiting is not None:
            waiting(reply.model, made)
        if time.monotonic() > until:
            raise NoAnswer(
                "still-waiting", f"expected certification {reply.model.id} within {seconds:g} seconds, found it waiting", "ask for it later"
            )
        yield Pause(pause)
        pause = min(pause * 2, 5.0)
        reply = yield from ask(get(_certification(reply.model.id)), CertificationAnswer)
    return Reply(reply.model, reply.value, made, reply.tag)


def _run(run_id: str) -> str:
    return f"/v1/runs/{_part(run_id)}"


def _certification(certification_id: str) -> str:
    return f"/v1/certifications/{_part(certification_id)}"


def _part(text: str) -> str:
    return quote(text, safe=":")

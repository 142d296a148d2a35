"""One method for each verb of the service. Documents go out as they are written; answers come back as models."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote
from uuid import uuid4

import httpx
from pydantic import BaseModel

from pairmark.client.connection import FIRST_PAUSE_SECONDS, Call, Connection, Reply, refusal_in
from pairmark.client.errors import NoAnswer
from pairmark.client.ledger import ENCODING, TYPE, OutgoingLedger
from pairmark.client.log_calls import LogCalls
from pairmark.client.people_calls import PeopleCalls
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

ModelT = TypeVar("ModelT", bound=BaseModel)

_JSON = {"Content-Type": "application/json"}


class Client:
    """A service at `base_url`, such as `http://127.0.0.1:8000`. Use as a context, or `close` it.

    Calls that are safe to repeat (reading, PUT, POST under a key) are repeated a few times when the connection breaks or the service says
    that it is busy.
    """

    def __init__(self, base_url: str, *, timeout: float = 60.0, transport: httpx.BaseTransport | None = None, api_key: str | None = None) -> None:
        """`timeout` bounds every single wait for the service, in seconds; `api_key` (or a bearer token) says who calls."""
        self._connection = Connection(base_url, timeout=timeout, transport=transport, key=api_key)
        self.people = PeopleCalls(self._connection)
        """Calls about members, API keys and the audit log."""
        self.log = LogCalls(self._connection)
        """Calls about the transparency log, and the standing of certificates."""

    def close(self) -> None:
        """Close the connections."""
        self._connection.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def register_suite(self, manifest: bytes, *, key: str | None = None) -> Reply[RegisteredSuite]:
        """Register a manifest."""
        return self._post("/v1/suites", manifest, RegisteredSuite, key)

    def suites(self, name: str | None = None) -> Iterator[SuiteItem]:
        """All labels, page by page behind the scenes."""
        cursor: str | None = None
        while True:
            page = self._get("/v1/suites", SuitePage, {"name": name, "cursor": cursor}).model
            yield from page.items
            cursor = page.next
            if cursor is None:
                return

    def suite(self, digest: str) -> Reply[SuiteManifest]:
        """The manifest under a digest."""
        return self._get(f"/v1/suites/{_part(digest)}", SuiteManifest)

    def suite_diff(self, digest: str, other: str, *, certificates: bool = False) -> Reply[SuiteDiff]:
        """What changed between two suite versions; with the standing certificates over either if asked for."""
        asked = {"certificates": "true"} if certificates else {}
        return self._get(f"/v1/suites/{_part(digest)}/diff/{_part(other)}", SuiteDiff, asked)

    def announce_run(self, run: bytes, *, key: str | None = None) -> Reply[RunAnswer]:
        """Announce a run, or hand a complete one in after the fact."""
        return self._post("/v1/runs", run, RunAnswer, key)

    def amend_run(self, run_id: str, run: bytes) -> Reply[RunAnswer]:
        """Supply a run's full document."""
        return self._put(f"/v1/runs/{_part(run_id)}", lambda: run, _JSON)

    def run(self, run_id: str) -> Reply[RunAnswer]:
        """A run."""
        return self._get(f"/v1/runs/{_part(run_id)}", RunAnswer)

    def upload_episodes(self, run_id: str, ledger: OutgoingLedger) -> Reply[RunAnswer]:
        """Upload a run's ledger, which seals it; `ledger` comes from `outgoing_ledger`."""
        headers = {"Content-Type": TYPE, "Content-Encoding": ENCODING}
        return self._put(f"/v1/runs/{_part(run_id)}/episodes", ledger.chunks, headers)

    def episodes(self, run_id: str, target: Path) -> None:
        """Write a sealed run's canonical ledger to a file, which appears whole or not at all."""
        made = target.with_name(f".{target.name}.{uuid4().hex}")
        try:
            with (
                self._connection.reaching(),
                made.open("xb") as file,
                self._connection.http.stream("GET", f"/v1/runs/{_part(run_id)}/episodes", headers={"Accept": TYPE}) as response,
            ):
                if response.status_code != 200:
                    response.read()
                    raise refusal_in(response)
                for chunk in response.iter_bytes():
                    file.write(chunk)
            made.replace(target)
        finally:
            made.unlink(missing_ok=True)

    def certify(
        self, benign: str, attacked: str, baseline: str | None = None, policy: str = "standard/1", *, key: str | None = None, wait: float = 3600
    ) -> Reply[CertificationAnswer]:
        """Certify a pair of runs; waits up to `wait` seconds for a large one. A refusal is an answer too."""
        asked: dict[str, Any] = {"benign": benign, "attacked": attacked, "policy": policy}
        if baseline is not None:
            asked["baseline"] = baseline
        return self._awaited(self._post("/v1/certifications", canonical_bytes(asked), CertificationAnswer, key, wait), wait)

    def certification(self, certification_id: str) -> Reply[CertificationAnswer]:
        """A verdict."""
        return self._get(f"/v1/certifications/{_part(certification_id)}", CertificationAnswer)

    def disprove(
        self, certification_id: str, text: str, digests: tuple[str, ...] = (), *, key: str | None = None, wait: float = 3600
    ) -> Reply[CertificationAnswer]:
        """Record a reviewer's evidence against a held `sign-plausible`."""
        body = canonical_bytes({"text": text, "digests": list(digests)})
        return self._awaited(self._post(f"/v1/certifications/{_part(certification_id)}/disproof", body, CertificationAnswer, key, wait), wait)

    def certificate(self, certificate_id: str) -> Reply[CertificateAnswer]:
        """A certificate and the report it releases."""
        return self._get(f"/v1/certificates/{_part(certificate_id)}", CertificateAnswer)

    def compare(
        self, left: str, others: Sequence[str], *, reweight: str | None = None
    ) -> Reply[Comparison] | Reply[ComparisonSet]:
        """`left` against one other certificate, or against each of several."""
        given: dict[str, Any] = {"left": left, "right": list(others)}
        if reweight is not None:
            given["reweight"] = reweight
        if len(others) == 1:
            return self._get("/v1/comparisons", Comparison, given)
        return self._get("/v1/comparisons", ComparisonSet, given)

    def plan(self, request: bytes, *, key: str | None = None) -> Reply[EvaluationPlan]:
        """What an evaluation shows and costs."""
        return self._post("/v1/plans", request, EvaluationPlan, key)

    def submit_aggregate(self, aggregate: bytes, *, key: str | None = None) -> Reply[AggregateAnswer]:
        """Keep counts without episodes for the record."""
        return self._post("/v1/aggregates", aggregate, AggregateAnswer, key)

    def aggregate(self, aggregate_id: str) -> Reply[AggregateAnswer]:
        """An aggregate, and why it has no certificate."""
        return self._get(f"/v1/aggregates/{_part(aggregate_id)}", AggregateAnswer)

    def history(self, suite: str, **filters: str | int | None) -> Reply[HistoryPage]:
        """A page of certificates over one mix; `filters` are the call's own parameters."""
        return self._get("/v1/history", HistoryPage, {"suite": suite, **filters})

    def _awaited(self, reply: Reply[CertificationAnswer], seconds: float) -> Reply[CertificationAnswer]:
        until, pause = time.monotonic() + seconds, FIRST_PAUSE_SECONDS
        made = reply.new
        while reply.model.state == "waiting":
            if time.monotonic() > until:
                raise NoAnswer(
                    "still-waiting", f"expected certification {reply.model.id} within {seconds:g} seconds, found it waiting", "ask for it later"
                )
            time.sleep(pause)
            pause = min(pause * 2, 5.0)
            reply = self.certification(reply.model.id)
        return Reply(reply.model, reply.value, made)

    def _get(self, path: str, model: type[ModelT], parameters: Mapping[str, Any] | None = None) -> Reply[ModelT]:
        given = {name: value for name, value in (parameters or {}).items() if value is not None}
        return self._connection.ask(Call("GET", path, parameters=given), model)

    def _post(self, path: str, body: bytes, model: type[ModelT], key: str | None, patience: float = 30.0) -> Reply[ModelT]:
        headers = {**_JSON, "Idempotency-Key": uuid4().hex if key is None else key}
        return self._connection.ask(Call("POST", path, lambda: body, headers, patience=patience), model)

    def _put(self, path: str, content: Callable[[], bytes | Iterator[bytes]], headers: Mapping[str, str]) -> Reply[RunAnswer]:
        return self._connection.ask(Call("PUT", path, content, headers, patience=300.0), RunAnswer)


def _part(text: str) -> str:
    return quote(text, safe=":")

"""Traces go to the collector that was configured, and nowhere where none was."""

from __future__ import annotations

import gzip
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.telemetry.spans import Tracing, span
from pairmark.domain.errors import Malformed
from pairmark.domain.world import World
from pairmark.http.app import let_go
from tests.cli.running import ENVIRONMENT
from tests.service.serving import Service

pytest.importorskip("opentelemetry.sdk", reason="the extra `telemetry` is not installed")


class Collector:
    """Takes spans by OTLP over HTTP, on loopback."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.paths: set[str] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def take(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.bodies.append(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
                outer.paths.add(self.path)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                return None

        setattr(Handler, "do_POST", Handler.take)  # noqa: B010 - a name that the handler wants
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def spans(self) -> list[Any]:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        found: list[Any] = []
        for body in self.bodies:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    found.extend(scope.spans)
        return found


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_a_span_for_each_request_and_each_use_case_below_it(collector: Collector, tmp_path: Path) -> None:
    service, world = Service.at(tmp_path, otlp_endpoint=collector.url), World()
    ids = service.submit(world)
    answer = service.certify(ids)
    service.get(f"/v1/certificates/{answer.json()['certificate']}/bundle")
    service.get("/v1/suites", headers={"Authorization": "Bearer pmk.abcdefgh.Zm9vYmFyYmF6"})
    service.get("/healthz")
    let_go(service.app)
    assert collector.paths == {"/v1/traces"}
    spans = {each.name: each for each in collector.spans()}
    assert {"pairmark.upload", "pairmark.check", "pairmark.certify", "pairmark.publish"} <= set(spans)
    request = spans["POST /v1/certifications"]
    assert spans["pairmark.check"].parent_span_id == request.span_id
    assert spans["pairmark.check"].trace_id == request.trace_id
    attributes = {each.key: each.value for each in spans["pairmark.upload"].attributes}
    assert attributes["pairmark.run_id"].string_value in ids.values()
    assert len(attributes["pairmark.request_id"].string_value) == 32
    assert not [name for name in spans if "healthz" in name]
    assert b"Zm9vYmFyYmF6" not in b"".join(collector.bodies)


def test_a_span_costs_nothing_and_goes_nowhere_without_a_collector(tmp_path: Path) -> None:
    with span("certify", episodes=3):
        pass
    code = (
        "import sys; from pathlib import Path; from pairmark.http.app import create_app; from pairmark.http.settings import Settings;"
        " create_app(Settings(data_dir=Path(sys.argv[1]))); assert not [name for name in sys.modules if name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter'))]"
    )
    environment = {**ENVIRONMENT, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_collector_that_is_away_keeps_nobody_waiting(tmp_path: Path) -> None:
    service = Service.at(tmp_path, otlp_endpoint="http://127.0.0.1:9")
    started = time.monotonic()
    assert service.get("/v1/suites").status_code == 200
    assert time.monotonic() - started < 3
    let_go(service.app)
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("endpoint", ["collector", "ftp://collector", "http://", ""])
def test_an_endpoint_that_is_none_is_refused(endpoint: str) -> None:
    with pytest.raises(Malformed, match="PAIRMARK_OTLP_ENDPOINT"):
        Tracing.to(endpoint, "1")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace.export", None)
    with pytest.raises(Malformed, match=r"pairmark\[telemetry\]"):
        Tracing.to("http://127.0.0.1:4318", "1")

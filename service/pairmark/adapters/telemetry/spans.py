"""Spans of use cases. They cost nothing and go nowhere unless an operator configured a collector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pairmark.adapters.telemetry.bound import bound_ids
from pairmark.domain.errors import Malformed

if TYPE_CHECKING:
    from fastapi import FastAPI
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

_tracers: list[Tracer] = []


@contextmanager
def span(name: str, **attributes: str | int) -> Iterator[None]:
    """A span around a use case, such as `certify`, below the request's; nothing where no tracing is on."""
    if not _tracers:
        yield
        return
    said = {f"pairmark.{key}": value for key, value in {**bound_ids(), **attributes}.items()}
    with _tracers[-1].start_as_current_span(f"pairmark.{name}", attributes=said):
        yield


class Tracing:
    """Spans of one application, sent to one collector by OTLP over HTTP."""

    def __init__(self, provider: TracerProvider) -> None:
        self.provider = provider
        self._tracer = provider.get_tracer("pairmark")
        _tracers.append(self._tracer)

    @classmethod
    def to(cls, endpoint: str, version: str) -> Tracing:
        """Tracing to the collector at `endpoint`, such as `http://127.0.0.1:4318`.

        Raises:
            Malformed: no URL, or the extra `telemetry` is not installed.
        """
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise Malformed(
                "bad-setting", "expected PAIRMARK_OTLP_ENDPOINT to be an http:// or https:// URL, found something else", remedy="such as http://127.0.0.1:4318"
            )
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError:
            raise Malformed(
                "no-telemetry", "expected OpenTelemetry, which PAIRMARK_OTLP_ENDPOINT asks for, found it not installed",
                remedy="pip install 'pairmark[telemetry]', or leave the variable out",
            ) from None
        provider = TracerProvider(resource=Resource({"service.name": "pairmark", "service.version": version}))
        url = endpoint if parts.path not in ("", "/") else f"{endpoint.rstrip('/')}/v1/traces"
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url, timeout=5)))
        return cls(provider)

    def watch(self, app: FastAPI) -> None:
        """A span for each request of an application, named by its route; headers are not recorded."""
        from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor

        FastAPIInstrumentor.instrument_app(
            app, tracer_provider=self.provider, excluded_urls="healthz,readyz,metrics", exclude_spans=["receive", "send"]
        )

    def close(self) -> None:
        """Send what waits, and stop."""
        if self._tracer in _tracers:
            _tracers.remove(self._tracer)
        self.provider.shutdown()

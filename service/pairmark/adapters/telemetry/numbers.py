"""Numbers for Prometheus. Labels come from closed lists: route templates, known methods, status classes, verdicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from pairmark.adapters.sql.counts import Counts

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Where several processes keep their numbers; set before this module is first imported."""


class Numbers:
    """What one process counts. Where several serve together, any of them answers for all."""

    def __init__(self, counts: Callable[[], Counts | None]) -> None:
        """`counts` asks the database; None where it does not answer."""
        self.registry = CollectorRegistry()
        self._counts = counts
        self._folder = os.environ.get(FOLDER_VARIABLE)
        labels = ("method", "route", "status")
        self._requests = Counter("pairmark_http_requests", "Requests answered.", labels, registry=self.registry)
        self._seconds = Histogram(
            "pairmark_http_request_seconds", "From a request's head to the end of its answer.", ("method", "route"), buckets=SECONDS,
            registry=self.registry,
        )
        self._received = Counter("pairmark_http_received_bytes", "Bytes of bodies that came in.", ("route",), registry=self.registry)
        self._uploaded = Counter("pairmark_upload_bytes", "Bytes of ledgers that came in, as sent.", registry=self.registry)
        self._open = Gauge(
            "pairmark_http_requests_in_progress", "Requests being answered.", registry=self.registry, multiprocess_mode="livesum"
        )
        self._connections = Gauge(
            "pairmark_database_connections", "Connections to the database, by state.", ("state",), registry=self.registry,
            multiprocess_mode="livesum",
        )

    def began(self) -> None:
        """A request is being answered."""
        self._open.inc()

    def answered(self, method: str, route: str, status: int, seconds: float, received: int, *, upload: bool) -> None:
        """A request was answered; `route` is a template, never a path."""
        method = method if method in METHODS else "other"
        self._open.dec()
        self._requests.labels(method, route, f"{status // 100}xx").inc()
        self._seconds.labels(method, route).observe(seconds)
        if received:
            self._received.labels(route).inc(received)
        if upload:
            self._uploaded.inc(received)

    def pool(self, used: int, idle: int) -> None:
        """How many connections to the database are in use, and open beside."""
        self._connections.labels("used").set(used)
        self._connections.labels("idle").set(idle)

    def exposition(self) -> bytes:
        """Everything, in Prometheus' text format."""
        shown = CollectorRegistry()
        shown.register(_Stored(self._counts()))
        if self._folder is None:
            ProcessCollector(registry=shown)
            return generate_latest(self.registry) + generate_latest(shown)
        from prometheus_client.multiprocess import MultiProcessCollector

        together = CollectorRegistry()
        MultiProcessCollector(together, path=self._folder)  # type: ignore[no-untyped-call]
        return generate_latest(together) + generate_latest(shown)


def forget_dead_processes(folder: Path) -> None:
    """Remove what processes that are gone said of themselves as they are now; what they counted stays."""
    for path in folder.glob("gauge_live*_*.db"):
        number = path.stem.rpartition("_")[2]
        if number.isdigit() and not Path(f"/proc/{number}").exists() and Path("/proc/self").exists():
            with suppress(FileNotFoundError):
                path.unlink()


class _Stored(Collector):
    """What the database knows, the same whichever process is asked."""

    def __init__(self, counts: Counts | None) -> None:
        self._counts = counts

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily("pairmark_database_up", "1 if the database answers.", 0 if self._counts is None else 1)
        if self._counts is None:
            return
        verdicts = CounterMetricFamily("pairmark_certifications", "Verdicts given, since the log began.", labels=("verdict",))
        for verdict, number in sorted(self._counts.verdicts.items()):
            verdicts.add_metric((verdict,), number)
        yield verdicts
        yield GaugeMetricFamily("pairmark_log_entries", "Entries of the transparency log.", self._counts.log_entries)
        queue = GaugeMetricFamily("pairmark_certifications_queued", "Certifications that wait, or came to nothing.", labels=("state",))
        queue.add_metric(("waiting",), self._counts.waiting)
        queue.add_metric(("given_up",), self._counts.given_up)
        yield queue

"""`/metrics`: numbers that add up, over several processes too, with labels from closed lists."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from pairmark.adapters.telemetry.numbers import forget_dead_processes
from pairmark.domain.world import World
from tests.operations.processes import Server
from tests.service.serving import Service

Numbers = dict[tuple[str, frozenset[tuple[str, str]]], float]


def numbers_in(text: str) -> Numbers:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(numbers: Numbers, name: str, **labels: str) -> float:
    return sum(number for (found, its), number in numbers.items() if found == name and frozenset(labels.items()) <= its)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service.at(tmp_path)


def test_requests_are_counted_by_route_and_class_and_never_by_path(service: Service) -> None:
    for number in range(3):
        assert service.get(f"/v1/runs/run-{number:032x}").status_code == 404
    assert service.get("/healthz").status_code == 200
    for odd in ("/no/such/place", "/%00", "/" + "x" * 500):
        service.get(odd)
    service.call("BREW", "/healthz")
    answer = service.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    numbers = numbers_in(answer.text)
    assert value(numbers, "pairmark_http_requests_total", method="GET", route="/v1/runs/{run_id}", status="4xx") == 3
    assert value(numbers, "pairmark_http_requests_total", route="/healthz", status="2xx") == 1
    assert value(numbers, "pairmark_http_requests_total", route="unmatched", status="4xx") == 3
    assert value(numbers, "pairmark_http_requests_total", method="other") == 1
    assert value(numbers, "pairmark_http_request_seconds_count", route="/v1/runs/{run_id}") == 3
    assert value(numbers, "pairmark_http_requests_in_progress") == 1, "the one that asks"
    assert "run-000" not in answer.text
    assert "no/such" not in answer.text


def test_verdicts_uploads_and_the_log_are_what_was_done(service: Service) -> None:
    world = World()
    before = numbers_in(service.get("/metrics").text)
    assert value(before, "pairmark_certifications_total") == 0
    assert {dict(its)["verdict"] for name, its in before if name == "pairmark_certifications_total"} == {"certified", "quarantined", "refused"}
    ids = service.submit(world)
    assert service.certify(ids).json()["report"]["verdict"] == "certified"
    assert service.certify({"benign": ids["benign"], "attacked": ids["attacked"]}).json()["report"]["verdict"] == "refused"
    after = numbers_in(service.get("/metrics").text)
    assert value(after, "pairmark_certifications_total", verdict="certified") == 1
    assert value(after, "pairmark_certifications_total", verdict="refused") == 1
    assert value(after, "pairmark_upload_bytes_total") == sum(len(world.files()[f"{role}/episodes.jsonl"]) for role in world.sides)
    with service.app.state.services.database.reading() as tables:
        assert value(after, "pairmark_log_entries") == tables.log.head().size > value(before, "pairmark_log_entries")
    assert value(after, "pairmark_certifications_queued", state="waiting") == 0
    assert value(after, "pairmark_database_up") == 1
    assert ("pairmark_database_connections", frozenset({("state", "used")})) in after


def test_numbers_are_there_when_the_database_is_not(service: Service, tmp_path: Path) -> None:
    service.app.state.services.database.close()
    for path in tmp_path.glob("pairmark.db*"):
        path.unlink()
    (tmp_path / "pairmark.db").mkdir()
    answer = service.get("/metrics")
    assert answer.status_code == 200
    numbers = numbers_in(answer.text)
    assert value(numbers, "pairmark_database_up") == 0
    assert "pairmark_log_entries" not in answer.text


def test_several_processes_answer_for_all_of_them(tmp_path: Path) -> None:
    with Server(tmp_path, "--workers", "2") as server:
        for _ in range(40):  # each a connection of its own, which either process may take
            assert httpx.get(f"{server.url}/v1/suites", trust_env=False, timeout=60).status_code == 200
        seen = set()
        for _ in range(20):
            numbers = numbers_in(httpx.get(f"{server.url}/metrics", trust_env=False, timeout=60).text)
            seen.add(value(numbers, "pairmark_http_requests_total", route="/v1/suites"))
            assert value(numbers, "pairmark_log_entries") > 0
        assert seen == {40}
        assert server.stop() in (0, -15)
    assert "in 2 processes" in server.log()
    assert "Traceback" not in server.log()


def test_a_process_that_is_gone_no_longer_says_what_it_is_doing(tmp_path: Path) -> None:
    mine, gone, counter = (tmp_path / name for name in ("gauge_livesum_1.db", "gauge_livesum_4194399.db", "counter_4194399.db"))
    for path in (mine, gone, counter):
        path.touch()
    forget_dead_processes(tmp_path)
    assert (mine.exists(), gone.exists(), counter.exists()) == (True, False, True)

"""Bad input on every call: one clear problem, never a crash, nothing of the inside, nothing stored."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.world import World
from tests.databases import POSTGRESQL_SLOW
from tests.service.serving import JSON, Service, problem_in

pytestmark = POSTGRESQL_SLOW

BODIES: dict[str, tuple[bytes, int, str]] = {
    "nothing": (b"", 400, "not-json"),
    "not json": (b"{", 400, "not-json"),
    "single quotes": (b"{'a': 1}", 400, "not-json"),
    "trailing": (b"{} {}", 400, "not-json"),
    "latin-1": ("{\"a\": \"é\"}".encode("latin-1"), 400, "not-utf8"),
    "byte-order mark": (b"\xef\xbb\xbf{}", 400, "byte-order-mark"),
    "nan": (b'{"a": NaN}', 400, "not-finite"),
    "duplicate key": (b'{"a": 1, "a": 2}', 422, "duplicate-key"),
    "huge integer": (b'{"a": 12345678901234567890}', 422, "number-range"),
    "deep": (b'{"a":' * 100 + b"1" + b"}" * 100, 422, "too-deep"),
    "very deep": (b"[" * 100_000 + b"]" * 100_000, 422, "too-deep"),
    "array": (b"[]", 422, "not-an-object"),
    "null": (b"null", 422, "not-an-object"),
    "text": (b'"text"', 422, "not-an-object"),
    "empty": (b"{}", 422, "missing-key"),
}
TAKES_JSON = [
    ("POST", "/v1/suites"), ("POST", "/v1/runs"), ("PUT", "/v1/runs/run-0"), ("POST", "/v1/certifications"),
    ("POST", "/v1/certifications/certification-0/disproof"),
]


@pytest.fixture(scope="module")
def bare(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Service:
    """A service that nothing can be stored in by these tests."""
    return Service.at(tmp_path_factory.mktemp("bare"), max_document_bytes=300_000)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(("method", "path"), TAKES_JSON)
def test_bodies(bare: Service, method: str, path: str, body: str) -> None:
    data, status, code = BODIES[body]
    problem_in(bare.call(method, path, body=data, headers=JSON), status, code)


@pytest.mark.parametrize(("method", "path"), TAKES_JSON)
def test_types_and_sizes(bare: Service, method: str, path: str) -> None:
    for headers in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"}, {"Content-Type": ""}):
        problem_in(bare.call(method, path, body=b"{}", headers=headers), 415, "unsupported-media-type")
    problem_in(bare.call(method, path, body=b"{}", headers={**JSON, "Content-Encoding": "gzip"}), 415, "unsupported-encoding")
    for large in (b" " * 300_001, b"x" * 5_000_000):
        problem = problem_in(bare.call(method, path, body=large, headers=JSON), 413, "too-large")
        assert "300000" in problem.detail
        assert "PAIRMARK_MAX_DOCUMENT_BYTES" in problem.detail


@pytest.mark.parametrize("key", ["", "a b", "ü", "x" * 256, "a\tb"])
def test_idempotency_keys_that_are_none(bare: Service, world: World, key: str) -> None:
    headers = [(b"Content-Type", b"application/json"), (b"Idempotency-Key", key.encode())]
    answer = bare.call("POST", "/v1/suites", body=canonical_bytes(world.suite_manifest()), headers=headers)  # type: ignore[arg-type]
    problem_in(answer, 422, "bad-idempotency-key")
    assert bare.get("/v1/suites").json()["items"] == []


def test_a_problem_says_where(bare: Service, world: World) -> None:
    written = json.dumps({**world.suite_manifest(), "epochs": True}, indent=1).encode()
    problem = problem_in(bare.call("POST", "/v1/suites", body=written, headers=JSON), 422, "invalid-value")
    assert problem.errors[0].pointer == "/epochs"
    assert problem.errors[0].line == next(number for number, line in enumerate(written.split(b"\n"), 1) if b'"epochs"' in line)
    assert problem.instance == "/v1/suites"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1", 404, "no-such-resource"),
        ("GET", "/v1/suites/", 404, "no-such-resource"),
        ("GET", "/v2/suites", 404, "no-such-resource"),
        ("GET", "/docs", 404, "no-such-resource"),
        ("GET", "/v1/suites/x", 404, "unknown-suite"),
        ("GET", "/v1/suites/sha256:" + "A" * 64, 404, "unknown-suite"),
        ("GET", "/v1/suites/sha256:" + "0" * 64, 404, "unknown-suite"),
        ("GET", "/v1/suites/%00", 404, "unknown-suite"),
        ("GET", "/v1/runs/%00", 404, "unknown-run"),
        ("GET", "/v1/runs/%ff%fe", 404, "unknown-run"),
        ("GET", "/v1/runs/" + "x" * 5000, 404, "unknown-run"),
        ("GET", "/v1/runs/..%2f..%2fetc", 404, "no-such-resource"),
        ("GET", "/v1/runs/%0a%0d/episodes", 404, "unknown-run"),
        ("GET", "/v1/certifications/x", 404, "unknown-certification"),
        ("GET", "/v1/certificates/%00", 404, "unknown-certificate"),
        ("GET", "/v1/suites?limit=-1", 422, "invalid-parameter"),
        ("GET", "/v1/suites?limit=100000", 422, "invalid-parameter"),
        ("GET", "/v1/suites?nmae=x", 422, "invalid-parameter"),
        ("GET", "/v1/suites?limit=1&limit=x", 422, "invalid-parameter"),
        ("GET", "/v1/suites?cursor=" + "A" * 10_000, 422, "bad-cursor"),
        ("DELETE", "/v1/suites", 405, "method-not-allowed"),
        ("PATCH", "/v1/runs/run-0", 405, "method-not-allowed"),
        ("POST", "/v1/history", 405, "method-not-allowed"),
        ("BREW", "/v1/suites", 405, "method-not-allowed"),
    ],
)
def test_resources_that_are_not_there(bare: Service, method: str, path: str, status: int, code: str) -> None:
    answer = bare.call(method, path)
    problem_in(answer, status, code)
    if status == 405:
        assert answer.headers["allow"]


def test_a_crash_is_a_problem_without_its_inside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    service = Service.at(tmp_path)

    async def crash() -> None:
        raise RuntimeError("secret-token-123")

    service.app.add_api_route("/crash", crash)
    answer = service.get("/crash")
    problem_in(answer, 500, "internal-error")
    assert "secret" not in answer.text
    assert "secret-token-123" in caplog.text


def test_no_problem_says_a_word_of_the_machine(bare: Service) -> None:
    folder = str(bare.app.state.services.settings.data_dir)
    for path in ("/v1/suites/x", "/v1/runs/x", "/nothing"):
        assert folder not in bare.get(path).text


def routes(found: list[BaseRoute]) -> Iterator[APIRoute]:
    for route in found:
        if isinstance(route, APIRoute):
            yield route
        else:
            inner = getattr(route, "original_router", None)
            if inner is not None:
                yield from routes(inner.routes)


def test_every_call_survives_every_odd_body_and_type(bare: Service) -> None:
    """The matrix over the route table: a new route cannot be forgotten."""
    calls = [(method, re.sub(r"\{\w+\}", "x-0", route.path)) for route in routes(bare.app.routes) for method in route.methods or ()]
    assert len(calls) >= 13
    odd_headers: list[dict[str, str]] = [
        {}, JSON, {"Content-Type": "application/x-ndjson"}, {"Content-Type": "application/vnd.apache.parquet"}, {"Content-Type": "nonsense; ="},
        {**JSON, "Content-Encoding": "zstd"}, {**JSON, "Content-Length": "-5"}, {**JSON, "Accept": "nonsense;q=x,,"}, {**JSON, "If-None-Match": ","},
        {**JSON, "Idempotency-Key": "k"},
    ]
    for method, path in calls:
        for headers in odd_headers:
            for body in (None, b"", b"{", b"{}", b"\0\xff", b"[]"):
                answer = bare.call(method, path, body=body, headers=headers)
                assert answer.status_code < 500, (method, path, headers, body, answer.text)
                if answer.status_code >= 400 and answer.headers["content-type"].startswith("text/html"):
                    assert not path.startswith("/v1"), (method, path)  # a page, and so is what is wrong with it
                    assert "Traceback" not in answer.text
                elif answer.status_code >= 400:
                    problem_in(answer, answer.status_code, answer.json()["code"])


def test_a_document_with_every_kind_of_wrong_value_is_refused(bare: Service, world: World) -> None:
    """Every place of a run document, replaced by values of other kinds."""
    odd: list[Any] = [None, True, -1, 1.5, "", "\0", [], {}, [{}], "x" * 70_000]
    run = world.run("attacked")
    for place in places(run):
        for value in odd:
            changed = replaced(run, place, value)
            answer = bare.call("PUT", "/v1/runs/run-0", body=json.dumps(changed).encode(), headers=JSON)
            assert answer.status_code in (404, 422), (place, value, answer.text)
            problem_in(answer, answer.status_code, answer.json()["code"])


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    for key in keys:
        yield (*above, key)
        yield from places(value[key], (*above, key))


def replaced(value: Any, place: tuple[Any, ...], by: Any) -> Any:
    if not place:
        return by
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[place[0]] = replaced(value[place[0]], place[1:], by)
    return changed



"""The OpenAPI document holds, and answers are what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pairmark.domain.world import World
from pairmark.http.examples import recorded
from pairmark.http.route_table import calls_of
from tests.databases import SQLITE_ONLY
from tests.service.serving import Service, problem_in

pytestmark = SQLITE_ONLY


@pytest.fixture(scope="module")
def document(filled: tuple[Service, dict[str, str]]) -> dict[str, Any]:
    return dict(filled[0].get("/openapi.json").json())


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        found = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return found.union(*map(references, value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


def calls(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any], dict[str, dict[str, Any]]]]:
    """Method, path, call, and its responses with the shared ones in their place."""
    for path, methods in document["paths"].items():
        for method, call in methods.items():
            yield method, path, call, {
                status: document["components"]["responses"][response["$ref"].rpartition("/")[2]] if "$ref" in response else response
                for status, response in call["responses"].items()
            }


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    known = {f"#/components/{kind}/{name}" for kind, named in document["components"].items() for name in named}
    assert references(document) <= known
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_every_call_but_pages_is_in_it(filled: tuple[Service, dict[str, str]], document: dict[str, Any]) -> None:
    described = {(method.upper(), path) for method, path, _, _ in calls(document)}
    served = {(call.method, call.path) for call in calls_of(filled[0].app)}
    assert described <= served
    operations = {"/healthz", "/readyz", "/metrics"}
    assert {one for one in served if one[1].startswith("/v1/") or one[1] in operations} == described


def test_every_call_declares_its_answers_and_its_problems(document: dict[str, Any]) -> None:
    for method, path, call, responses in calls(document):
        assert {"500", "503"} <= set(responses), (method, path)
        assert any(status.startswith("2") for status in responses)
        for status, response in responses.items():
            kinds = set(response.get("content", {}))
            assert "X-Request-ID" in response["headers"], (method, path, status)
            if status == "304":
                assert kinds == set()
            elif status.startswith("2"):
                assert kinds
                assert "application/problem+json" not in kinds
            else:
                assert kinds == {"application/problem+json"}, (method, path, status)
        names = {parameter["name"].lower() for parameter in call.get("parameters", ())}
        if method in ("post", "put", "patch"):
            assert "requestBody" in call
            assert "content-digest" in names
        if method == "post":
            assert "idempotency-key" in names
        assert ("if-none-match" in names) == ("304" in responses) == ("ETag" in responses.get("200", {}).get("headers", {})), (method, path)


def examples(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Where an example stands, the schema that it is of, and the example; missing ones as they are."""
    for method, path, call, responses in calls(document):
        for place, described in (("request", call.get("requestBody", {})), *responses.items()):
            for kind, content in described.get("content", {}).items():
                if "example" in content:
                    yield f"{method} {path} {place} {kind}", content["schema"], content["example"]
    for name, problem in document["components"]["examples"].items():
        yield name, {"$ref": "#/components/schemas/Problem"}, problem["value"]


def test_every_call_has_an_example_of_its_request_and_of_every_success(document: dict[str, Any]) -> None:
    lacking = [
        (method, path, place)
        for method, path, call, responses in calls(document)
        for place, described in (("request", call.get("requestBody")), *responses.items())
        if described is not None and (place == "request" or place.startswith("2"))
        and not any("example" in content for content in described["content"].values())
    ]  # fmt: skip
    assert lacking == [], "record them: python tools/openapi.py --examples"
    for method, path, call, _ in calls(document):
        for parameter in call.get("parameters", ()):
            assert parameter["in"] != "path" or "example" in parameter, (method, path, parameter["name"])
    assert {"problem-404", "problem-409", "problem-422"} <= set(document["components"]["examples"])


def test_every_example_is_what_its_schema_says(document: dict[str, Any]) -> None:
    for place, schema, example in examples(document):
        validator = Draft202012Validator({**schema, "components": document["components"]})
        assert [error.message for error in validator.iter_errors(example)] == [], place


def test_no_example_is_of_a_call_that_there_is_not(document: dict[str, Any]) -> None:
    there = {f"{method.upper()} {path}" for method, path, _, _ in calls(document)}
    assert set(recorded()["calls"]) <= there


def test_the_committed_document_is_the_services(repository: Path, document: dict[str, Any]) -> None:
    committed = json.loads((repository / "schemas" / "openapi.json").read_bytes())
    assert committed == {**document, "info": {**document["info"], "version": "v1"}}, "write it: make schemas"


@pytest.mark.slow
def test_examples_can_be_recorded_again(repository: Path) -> None:
    """The story still runs through, and says something of every call."""
    code = (
        "import json, sys, tempfile; from pathlib import Path; from openapi_story import tell;"
        "json.dump(tell(Path(tempfile.mkdtemp())), sys.stdout)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=repository / "tools", capture_output=True, check=True)
    told = json.loads(done.stdout)
    assert {name: set(call["answers"]) for name, call in told["calls"].items()} == {
        name: set(call["answers"]) for name, call in recorded()["calls"].items()
    }


def test_answers_are_what_the_document_says(filled: tuple[Service, dict[str, str]], document: dict[str, Any]) -> None:
    service, ids = filled
    certification = service.certify(ids).json()
    digest = certification["report"]["suite"]["digest"]
    asked = {
        "/v1/suites": "/v1/suites",
        "/v1/suites/{digest}": f"/v1/suites/{digest}",
        "/v1/suites/{digest}/diff/{other}": f"/v1/suites/{digest}/diff/{digest}",
        "/v1/runs/{run_id}": f"/v1/runs/{ids['benign']}",
        "/v1/runs/{run_id}/episodes": f"/v1/runs/{ids['benign']}/episodes",
        "/v1/certifications/{certification_id}": f"/v1/certifications/{certification['id']}",
        "/v1/certificates/{certificate_id}": f"/v1/certificates/{certification['certificate']}",
        "/v1/history": f"/v1/history?suite={digest}",
        "/healthz": "/healthz",
        "/readyz": "/readyz",
    }
    for path, address in asked.items():
        schema = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        validator = Draft202012Validator({**schema, "components": document["components"]})
        answer = service.get(address)
        assert answer.status_code == 200
        assert list(validator.iter_errors(answer.json())) == [], path
    problem = Draft202012Validator({"$ref": "#/components/schemas/Problem", "components": document["components"]})
    assert list(problem.iter_errors(problem_in(service.get("/x"), 404, "no-such-resource").model_dump(mode="json", by_alias=True, exclude_none=True))) == []


def test_bodies_are_what_the_document_says(document: dict[str, Any], world: World) -> None:
    for path, method, value in (("/v1/suites", "post", world.suite_manifest()), ("/v1/runs", "post", world.run("attacked"))):
        schema = document["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"]
        validator = Draft202012Validator({**schema, "components": document["components"]})
        assert list(validator.iter_errors(value)) == []
        assert list(validator.iter_errors({**value, "surprise": 1}))

"""The OpenAPI document holds, and answers are what it says."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pairmark.domain.world import World
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


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert references(document) <= known
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_every_call_declares_its_answers_and_its_problems(document: dict[str, Any]) -> None:
    for path, calls in document["paths"].items():
        for method, call in calls.items():
            statuses = set(call["responses"])
            assert {"500", "503"} <= statuses, (method, path)
            assert any(status.startswith("2") for status in statuses)
            for status, response in call["responses"].items():
                kinds = set(response.get("content", {}))
                assert "application/json" in kinds if status.startswith("2") else kinds == {"application/problem+json"}, (method, path, status)
            if method in ("post", "put"):
                assert "requestBody" in call
            if method == "post":
                assert any(parameter["name"].lower() == "idempotency-key" for parameter in call["parameters"])


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

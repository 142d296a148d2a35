"""The OpenAPI document: FastAPI's, with the models of bodies that routes read themselves, what every call shares, and examples."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from pairmark.http.access import NEEDS
from pairmark.http.content_digest import HEADER as CONTENT_DIGEST
from pairmark.http.documented import BODIES
from pairmark.http.examples import add_examples
from pairmark.http.problems import MEDIA_TYPE
from pairmark.http.route_table import CallOf, calls_of
from pairmark.http.watched import HEADER as REQUEST_ID

DESCRIPTION = """Certifies utility under attack. Documents are read strictly; every error is a problem (RFC 9457) with a stable `code`."""

BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key (`pmk...`), or a token of the service's identity provider. A service on loopback with SQLite wants none until a key is made.",
}

HEADERS = {
    REQUEST_ID: "What the service's log calls this request",
    "Retry-After": "Seconds after which to ask again",
    "ETag": "Tag of this answer, for If-None-Match and If-Match",
    "Idempotency-Replayed": "`true`: this answer was given before, to the same request under the same key",
}


def describe(app: FastAPI) -> dict[str, Any]:
    """The document, made once."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        _add_models(document)
        document["components"]["securitySchemes"] = {"bearer": BEARER}
        document["components"]["headers"] = {
            name: {"description": said, "schema": {"type": "string"}} for name, said in HEADERS.items()
        }
        for call in calls_of(app):
            described = document["paths"].get(call.path, {}).get(call.method.lower())
            if described is not None:
                _complete(call, described)
        add_examples(document)
        _share_problems(document)
        app.openapi_schema = document
    return app.openapi_schema


def _add_models(document: dict[str, Any]) -> None:
    _, found = models_json_schema(
        [(model, "validation") for model in BODIES.values()], by_alias=True, ref_template="#/components/schemas/{model}"
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name, schema in found.get("$defs", {}).items():
        schemas.setdefault(name, schema)
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)


def _complete(call: CallOf, described: dict[str, Any]) -> None:
    needed = NEEDS.get((call.method, call.path))
    described["security"] = [{"bearer": []}] if needed is not None else [{}, {"bearer": []}]
    if needed is not None:
        described["x-permission"] = needed
    parameters, responses = described.setdefault("parameters", []), described["responses"]
    if "requestBody" in described:
        parameters.append(_header(CONTENT_DIGEST, "SHA-256 or SHA-512 of the body as it is sent (RFC 9530), such as `sha-256=:base64:`; compared"))
    if "304" in responses:
        parameters.append(_header("If-None-Match", "tags that the caller has: 304 if one of them is this answer's"))
    for status, response in responses.items():
        content = response.get("content", {})
        if len(content) > 1 and content.get("application/json") == {"schema": {}}:
            del content["application/json"]  # FastAPI's own guess beside what a route says it answers with
        for kind, form in content.items():
            form.setdefault("schema", {} if kind == "application/json" else {"type": "string"})
        for name in _headers_of(call, status, tagged="304" in responses):
            response.setdefault("headers", {})[name] = {"$ref": f"#/components/headers/{name}"}
    if not parameters:
        del described["parameters"]


def _headers_of(call: CallOf, status: str, *, tagged: bool) -> list[str]:
    found = [REQUEST_ID]
    if status in ("409", "429", "503", "507"):
        found.append("Retry-After")
    if tagged and status in ("200", "304"):
        found.append("ETag")
    if call.method == "POST" and status.startswith("2"):
        found.append("Idempotency-Replayed")
    return found


def _share_problems(document: dict[str, Any]) -> None:
    """Say what a problem of each status looks like once."""
    shared = document["components"].setdefault("responses", {})
    for methods in document["paths"].values():
        for described in methods.values():
            for status, response in described["responses"].items():
                if MEDIA_TYPE in response.get("content", {}):
                    shared.setdefault(f"problem-{status}", response)
                    described["responses"][status] = {"$ref": f"#/components/responses/problem-{status}"}


def _header(name: str, said: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, "description": said, "schema": {"type": "string"}}

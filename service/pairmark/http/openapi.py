"""The OpenAPI document: FastAPI's, with the models of bodies that routes read themselves."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from pairmark.http.access import NEEDS
from pairmark.http.documented import BODIES
from pairmark.http.route_table import calls_of

DESCRIPTION = """Certifies utility under attack. Documents are read strictly; every error is a problem (RFC 9457) with a stable `code`."""

BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key (`pmk...`), or a token of the service's identity provider. A service on loopback with SQLite wants none until a key is made.",
}


def describe(app: FastAPI) -> dict[str, Any]:
    """The document, made once."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        _, found = models_json_schema(
            [(model, "validation") for model in BODIES.values()], by_alias=True, ref_template="#/components/schemas/{model}"
        )
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for name, schema in found.get("$defs", {}).items():
            schemas.setdefault(name, schema)
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        document["components"]["securitySchemes"] = {"bearer": BEARER}
        for call in calls_of(app):
            described = document["paths"].get(call.path, {}).get(call.method.lower())
            if described is not None:
                needed = NEEDS.get((call.method, call.path))
                described["security"] = [{"bearer": []}] if needed is not None else [{}, {"bearer": []}]
                if needed is not None:
                    described["x-permission"] = needed
        app.openapi_schema = document
    return app.openapi_schema

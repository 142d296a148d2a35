"""What OpenAPI says of a route that reads its body strictly and writes its answer itself."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from pairmark.domain.documents.problem import Problem
from pairmark.http.problems import MEDIA_TYPE

BODIES: dict[str, type[BaseModel]] = {}
"""Models of request bodies, by the name they have under `components`."""

PROBLEM: dict[str, Any] = {
    "description": "A problem, with a stable `code`",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
NOT_MODIFIED: dict[str, Any] = {"description": "What the caller has is what there is"}
BODIES["Problem"] = Problem
ANY = (401, 403, 422, 429, 500, 503)
"""Problems of any call: nobody signed in, not permitted, a parameter that is none, too many requests, a fault, unavailable."""


def json_of(model: type[BaseModel], *, required: bool = True) -> dict[str, Any]:
    """`openapi_extra` of a route whose body is such a document; one that is not required is `{}` where no bytes come."""
    BODIES[model.__name__] = model
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}


def is_optional(route: object) -> bool:
    """Whether a route says that its body may be left out."""
    described = getattr(route, "openapi_extra", None) or {}
    return described.get("requestBody", {}).get("required") is False


def answers(*problems: int, **models: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    """`responses` of a route: `s200=Model` for each success, and the problems it may answer with beside those that any call may.

    304 says that its answers have tags.
    """
    found: dict[int | str, dict[str, Any]] = {int(status[1:]): {"model": model} for status, model in models.items()}
    return {**found, **{status: NOT_MODIFIED if status == 304 else PROBLEM for status in sorted({*problems, *ANY})}}

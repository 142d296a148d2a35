"""Parameters of a page. A form sends every field, so an empty one is as good as none."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

ModelT = TypeVar("ModelT", bound=BaseModel)


def parameters(request: Request, model: type[ModelT], *, lists: Collection[str] = ()) -> ModelT:
    """The parameters of this request as the API takes them; those named in `lists` may come several times.

    Raises:
        RequestValidationError: one that this page does not take, or not so.
    """
    given: dict[str, str | list[str]] = {}
    for key in dict.fromkeys(request.query_params):
        values = [value.strip() for value in request.query_params.getlist(key) if value.strip()]
        if values:
            given[key] = values if key in lists else values[-1]
    try:
        return model.model_validate(given)
    except ValidationError as problem:
        errors = problem.errors(include_url=False)
        raise RequestValidationError([{**error, "loc": ("query", *error["loc"])} for error in errors]) from None


def window(items: Sequence[Any], start: int, size: int) -> dict[str, Any]:
    """`size` items of a list that is whole, from `start` on; `before` and `next` are where its neighbours begin, None at an end."""
    return {
        "items": items[start : start + size], "first": start, "all": len(items), "size": size,
        "next": start + size if start + size < len(items) else None, "before": max(0, start - size) if start else None,
    }  # fmt: skip

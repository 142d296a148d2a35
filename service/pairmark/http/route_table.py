"""Every call that an application answers, however its routers were put together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from starlette.routing import compile_path


@dataclass(frozen=True)
class CallOf:
    """One method of one path; `parameters` are the names in its path."""

    method: str
    path: str
    parameters: frozenset[str]


def calls_of(app: FastAPI) -> Iterator[CallOf]:
    """Every call; HEAD, which GET implies, is left out."""
    for context in iter_route_contexts(app.routes):
        path = context.path
        if path is not None:
            _, _, convertors = compile_path(path)
            for method in sorted(set(context.methods or ()) - {"HEAD"}):
                yield CallOf(method, path, frozenset(convertors))

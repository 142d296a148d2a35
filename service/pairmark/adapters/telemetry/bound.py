"""Ids of what is being worked on, carried along with a request into every log record and span."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_bound: ContextVar[Mapping[str, str]] = ContextVar("pairmark_bound", default={})  # noqa: B039 - never changed, always replaced

ID = re.compile(r"(?<![\w-])(run|certification|certificate)-[0-9a-f]{32}(?![\w-])")


def bound_ids() -> Mapping[str, str]:
    """The ids that are bound here, by field: `request_id`, `run_id`, `certification_id`, `certificate_id`."""
    return _bound.get()


@contextmanager
def bound(**ids: str) -> Iterator[None]:
    """Bind these ids as long as the context lasts, beside those bound before."""
    token = _bound.set({**_bound.get(), **ids})
    try:
        yield
    finally:
        _bound.reset(token)


def ids_in(text: str) -> dict[str, str]:
    """The ids that stand in a path, the first of each kind."""
    found: dict[str, str] = {}
    for match in ID.finditer(text):
        found.setdefault(f"{match[1]}_id", match[0])
    return found

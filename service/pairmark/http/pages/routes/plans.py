"""Plans: what an evaluation would show and cost before it is run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from fastapi import Request, Response

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.evaluation_plan import PlanRequest
from pairmark.domain.errors import Malformed, PairmarkError, shown
from pairmark.http.pages.rendering import page
from pairmark.http.pages.routing import page_router
from pairmark.http.pages.sources import WithSources
from pairmark.http.problems import problem_of

router = page_router()

WHOLE: Final = ("tasks", "injections", "benign_epochs", "attacked_epochs", "baseline_epochs")
DECIMAL: Final = ("clean_rate", "survival", "half_width", "difference", "discordance", "power")
TEXT: Final = ("suite", "pilot")
SPANS: Final = ("calls_per_episode", "seconds_per_call", "price_per_call")
EXAMPLE: Final = {
    "tasks": "100", "injections": "10", "attacked_epochs": "1", "benign_epochs": "1", "baseline_epochs": "1", "clean_rate": "0.7", "survival": "0.8",
    "half_width": "0.05", "difference": "0.1", "power": "0.8", "calls_per_episode_low": "5", "calls_per_episode_high": "15",
}  # fmt: skip
"""What the form starts with, where it was not filled in."""


@router.get("/plan")
def get_plan(request: Request, sources: WithSources) -> Response:
    """The form, and the plan for what it says."""
    given = {key: value.strip() for key, value in request.query_params.items() if value.strip()} or dict(EXAMPLE)
    try:
        asked, _ = read_document(PlanRequest, canonical_bytes(_request(given)))
        plan, problem = sources.plan(asked), None
    except PairmarkError as error:
        found = problem_of(error)
        if found.status >= 500:
            raise
        plan, problem = None, found.model_dump(mode="json", by_alias=True)
    fields = {key: text for key, text in given.items() if key in TEXT or _is_number(text)}
    return page(request, "plan.html", 200 if problem is None else problem["status"], given=fields, plan=plan, problem=problem)


def _request(given: Mapping[str, str]) -> dict[str, Any]:
    """The form as a request of the API.

    Raises:
        Malformed: a field that is no number, or that the form does not have.
    """
    asked: dict[str, Any] = {}
    spans: dict[str, dict[str, float]] = {}
    for key, text in given.items():
        span, _, end = key.rpartition("_")
        if key in TEXT:
            asked[key] = text
        elif key in WHOLE:
            asked[key] = _number(key, text, whole=True)
        elif key in DECIMAL:
            asked[key] = _number(key, text)
        elif span in SPANS and end in ("low", "high"):
            spans.setdefault(span, {})[end] = _number(key, text)
        else:
            raise Malformed("invalid-parameter", f"expected only the fields of the form, found {shown(key)}", remedy="leave it out")
    return {**asked, **spans}


def _number(key: str, text: str, *, whole: bool = False) -> float | int:
    if not _is_number(text) or (whole and not float(text).is_integer()):
        raise Malformed(
            "invalid-parameter", f"expected a {'whole ' if whole else ''}number in {key.replace('_', ' ')}, found {shown(text)}", remedy="correct the field"
        )
    return int(float(text)) if whole else float(text)


def _is_number(text: str) -> bool:
    """True for a decimal number of a size that a plan may have, which the form's fields take too."""
    return re.fullmatch(r"-?[0-9]{1,15}([.][0-9]{1,15})?(e-?[0-9]{1,2})?", text) is not None

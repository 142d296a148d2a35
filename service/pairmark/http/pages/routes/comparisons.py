"""Comparisons of certificates."""

from __future__ import annotations

from typing import Annotated

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field

from pairmark.app.compare import MOST_OTHERS
from pairmark.app.comparison.compare import Reweight
from pairmark.app.comparison.refusals import NotComparable
from pairmark.app.ports import HistoryQuery
from pairmark.domain.documents.base import Identifier
from pairmark.domain.errors import Conflict, Malformed, NotFound
from pairmark.http.pages.parameters import parameters
from pairmark.http.pages.rendering import page
from pairmark.http.pages.routing import page_router
from pairmark.http.pages.sources import Answer, Sources, WithSources
from pairmark.http.problems import problem_of

router = page_router()

BESIDE = 20
"""Certificates over the same mix that are offered, where only a baseline was given."""


class CompareParams(BaseModel):
    """What the page takes: as the call, but nothing at all is an empty form."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    left: Identifier | None = None
    right: Annotated[list[Identifier], Field(max_length=MOST_OTHERS)] = []
    reweight: Reweight | None = None


@router.get("/compare")
def get_compare(request: Request, sources: WithSources) -> Response:
    """A baseline certificate, and others as differences from it."""
    params = parameters(request, CompareParams, lists=("right",))
    given = {"left": params.left, "right": params.right, "reweight": params.reweight}
    if params.left is None or not params.right:
        return page(
            request, "compare.html", given=given, comparisons=None, refusal=None, adjusted=False,
            beside=[] if params.left is None else _beside(sources, params.left),
        )  # fmt: skip
    try:
        found = sources.comparison(params.left, params.right, params.reweight)
    except (NotFound, Conflict, Malformed) as refused:
        problem = problem_of(refused).model_dump(mode="json", by_alias=True)
        status = 200 if isinstance(refused, NotComparable) else problem["status"]  # a refusal is a result like any other
        return page(request, "compare.html", status, given=given, comparisons=None, refusal=problem, adjusted=False, beside=[])
    comparisons = found.get("comparisons", [found])
    return page(request, "compare.html", given=given, comparisons=comparisons, refusal=None, adjusted="comparisons" in found, beside=[])


def _beside(sources: Sources, left: str) -> list[Answer]:
    """Certificates over the same mix as the baseline, the newest first."""
    suite = sources.certificate(left)["certificate"]["suite"]["digest"]
    found = sources.history(suite, HistoryQuery(suite="", weighting="", definition=""), None, BESIDE + 1)
    return [item for item in found["items"] if item["certificate"] != left][:BESIDE]

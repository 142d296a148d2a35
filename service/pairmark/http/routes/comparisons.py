"""Comparisons of certificates."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from pairmark.app.compare import MOST_OTHERS, compare_certificates
from pairmark.domain.documents.base import Identifier
from pairmark.domain.documents.comparison import Comparison, ComparisonSet
from pairmark.http.answers import changing_json
from pairmark.http.documented import answers
from pairmark.http.services import WithServices

router = APIRouter(prefix="/v1/comparisons", tags=["comparisons"])


class ComparisonParams(BaseModel):
    """Parameters that this call does not have are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    left: Annotated[Identifier, Field(description="id of a certificate")]
    right: Annotated[
        list[Identifier], Field(min_length=1, max_length=MOST_OTHERS, description="id of another; given several times, each is compared with left")
    ]
    reweight: Annotated[
        Literal["common"] | None, Field(description="where the suites differ: on the cells they have in common, or with groups weighed alike")
    ] = None


@router.get("", responses={**answers(404, 409), 200: {"model": Comparison | ComparisonSet}})
def get_comparison(params: Annotated[ComparisonParams, Query()], services: WithServices) -> Response:
    """Compare certificates cell by cell: changes from left to right, with intervals, flips, and `tied` where none is shown.

    409 where they do not compare: `differing` names the fields, `nearest` what does compare, and where reweighting was
    refused `decomposition` splits the change of the headline numbers into within and mix. With several `right`, p-values
    are adjusted by Holm.
    """
    with services.turns:
        found = compare_certificates(services.database, services.ledgers, params.left, params.right, params.reweight)
    value: dict[str, Any] = found.model_dump(mode="json", by_alias=True)
    return changing_json(value)

"""History: certificates over one frozen mix."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from pairmark.app.history import history
from pairmark.app.history_entry import RATES
from pairmark.app.moments import moment
from pairmark.app.ports import HistoryQuery, Order
from pairmark.domain.documents.base import Identifier, Time
from pairmark.domain.strict_json import parse
from pairmark.http.answers import changing_json
from pairmark.http.documented import answers
from pairmark.http.models import HistoryPage
from pairmark.http.paging import PageParams
from pairmark.http.routes.suites import suite_item
from pairmark.http.services import WithServices

router = APIRouter(prefix="/v1/history", tags=["history"])

Bound = Annotated[
    str, Field(pattern=r"^-?[0-9]{1,9}([.][0-9]{1,18}|/[1-9][0-9]{0,17})?$", max_length=32, description="decimal or fraction, inclusive")
]
NAMES = ("model", "defense", "attack", "harness", "scaffold", "policy")


class HistoryParams(PageParams):
    """Filters hold together; names are exact. `defense=none` finds undefended systems."""

    suite: Annotated[Identifier, Field(description="digest, `name@version`, or a name with one content")]
    model: Annotated[Identifier | None, Field(description="requested or served")] = None
    defense: Annotated[Identifier | None, Field(description="name, `name@version`, or `none`")] = None
    attack: Identifier | None = None
    harness: Annotated[Identifier | None, Field(description="name or `name@version`")] = None
    scaffold: Annotated[Identifier | None, Field(description="name or `name@version`")] = None
    policy: Annotated[Identifier | None, Field(description="`name/version`")] = None
    since: Time | None = None
    until: Time | None = None
    min_benign_utility: Bound | None = None
    max_benign_utility: Bound | None = None
    min_utility_under_attack: Bound | None = None
    max_utility_under_attack: Bound | None = None
    min_utility_drop: Bound | None = None
    max_utility_drop: Bound | None = None
    min_attack_success_rate: Bound | None = None
    max_attack_success_rate: Bound | None = None
    sort: Order = "date"
    direction: Literal["descending", "ascending"] = "descending"

    def query(self) -> HistoryQuery:
        """The filters, without the mix."""
        given = self.model_dump()
        sides: tuple[Literal["min", "max"], ...] = ("min", "max")
        return HistoryQuery(
            suite="", weighting="", definition="",
            names=tuple((kind, given[kind]) for kind in NAMES if given[kind] is not None),
            since=_moment(self.since),
            until=_moment(self.until),
            bounds=tuple(
                (rate, side, float(Fraction(given[f"{side}_{rate}"])))
                for rate in RATES for side in sides if given[f"{side}_{rate}"] is not None
            ),
            order=self.sort,
            descending=self.direction == "descending",
        )


@router.get("", responses=answers(404, 409, s200=HistoryPage))
def get_history(params: Annotated[HistoryParams, Query()], services: WithServices) -> Response:
    """Certificates over the mix that `suite` means today; its digest is in the answer."""
    with services.database.reading() as tables:
        found = history(tables, params.suite, params.query(), params.cursor, params.size(services.settings))
    return changing_json(
        {
            "suite": {"digest": found.suite.digest, "labels": [suite_item(label) for label in found.labels]},
            "weighting": found.weighting,
            "definition": found.definition,
            "items": [parse(line.summary) for line in found.page.items],
            "next": found.page.next,
        }
    )


def _moment(text: str | None) -> str | None:
    return None if text is None else moment(datetime.fromisoformat(text.upper()))

"""History: certificates over one frozen mix."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Query, Response
from pydantic import Field

from pairmark.adapters.tables.history import TABLE_TYPES, table_of
from pairmark.app.history import HistoryAnswer, history, reason_left_out
from pairmark.app.history_entry import RATES
from pairmark.app.moments import moment
from pairmark.app.ports import HistoryQuery, Order
from pairmark.domain.documents.base import Digest, Identifier, Time
from pairmark.http.answers import CHANGING, changing_json
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
    include: Annotated[
        Literal["incomparable"] | None, Field(description="list what stands under the suite's names and does not compare, marked")
    ] = None
    digest: Annotated[Digest | None, Field(description="what `suite` is expected to mean; 409 if it means another by now")] = None
    format: Annotated[Literal["json", "csv", "parquet", "latex"], Field(description="csv, parquet, latex: the page as a table")] = "json"
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
            incomparable=self.include == "incomparable",
        )


TABLES: dict[int | str, dict[str, Any]] = {200: {"content": {kind: {} for kind in TABLE_TYPES.values()}}}


@router.get("", responses={**answers(404, 409, s200=HistoryPage), 200: {"model": HistoryPage, **TABLES[200]}})
def get_history(params: Annotated[HistoryParams, Query()], services: WithServices) -> Response:
    """Certificates over the mix that `suite` means today; its digest is in the answer, and what was left out is counted."""
    with services.database.reading() as tables:
        found = history(tables, params.suite, params.query(), params.cursor, params.size(services.settings), params.digest)
    page = history_page(found, moment(services.clock()))
    if params.format == "json":
        return changing_json(page)
    headers = {"Cache-Control": CHANGING}
    if found.page.next is not None:
        headers["Pairmark-Next"] = found.page.next
    return Response(table_of(page, params.format), 200, headers, TABLE_TYPES[params.format])


def history_page(found: HistoryAnswer, retrieved_at: str) -> dict[str, Any]:
    """A page as answers show it."""
    return {
        "suite": {
            "digest": None if found.suite is None else found.suite.digest,
            "labels": [suite_item(label) for label in found.labels],
        },
        "weighting": found.query.weighting or None,
        "definition": found.query.definition,
        "items": [
            {
                **_object(line.summary), "suite": line.suite or None, "status": line.status,
                "left_out": reason_left_out(line, found.query),
            }
            for line in found.page.items
        ],
        "left_out": dict(sorted(found.left_out.items())),
        "retrieved_at": retrieved_at,
        "next": found.page.next,
    }


def _object(summary: bytes) -> dict[str, Any]:
    """A stored line: bytes that this service wrote itself."""
    found: dict[str, Any] = orjson.loads(summary)
    return found


def _moment(text: str | None) -> str | None:
    return None if text is None else moment(datetime.fromisoformat(text.upper()))

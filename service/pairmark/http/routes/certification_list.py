"""The list of certifications."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from pairmark.app.list_certifications import CertificationLine, list_certifications
from pairmark.domain.documents.base import Identifier, JsonValue, Strict, Time
from pairmark.domain.documents.run import Attack
from pairmark.http.answers import changing_json
from pairmark.http.documented import answers
from pairmark.http.models import CertifiedRunIds, HistorySystem, SuiteItem
from pairmark.http.paging import PageParams
from pairmark.http.routes.suites import suite_item
from pairmark.http.services import WithServices

router = APIRouter(prefix="/v1/certifications", tags=["certifications"])

Verdict = Literal["certified", "quarantined", "refused"]


class CertificationParams(PageParams):
    """What to list."""

    verdict: Annotated[Verdict | None, Field(description="only these")] = None
    waiting: Annotated[bool, Field(description="only quarantined ones that nobody has answered with a disproof")] = False
    run: Annotated[str | None, Field(description="only those that use this run, as benign, attacked or baseline")] = None


class CertificationItem(Strict):
    """A verdict. `metrics` and `status` are null unless it was certified; `suite` is the manifest that it rests on."""

    id: Identifier
    created_at: Time
    verdict: Verdict
    certificate: Identifier | None
    status: Literal["valid", "superseded", "revoked"] | None
    suite: SuiteItem
    runs: CertifiedRunIds
    system: HistorySystem
    attack: Attack | None
    metrics: dict[str, JsonValue] | None
    disproves: Identifier | None
    disproved_by: Identifier | None


class CertificationList(Strict):
    items: tuple[CertificationItem, ...]
    next: str | None


def certification_item(line: CertificationLine) -> dict[str, Any]:
    """A line of the list as answers show it."""
    found = line.listed.certification
    return {
        "id": found.id, "created_at": found.created_at, "verdict": found.verdict, "certificate": found.certificate,
        "status": line.status, "suite": suite_item(line.suite),
        "runs": {"benign": found.benign, "attacked": found.attacked, "baseline": found.baseline},
        "system": line.system, "attack": line.attack, "metrics": line.metrics, "disproves": found.disproves,
        "disproved_by": line.listed.disproved_by,
    }  # fmt: skip


@router.get("", responses=answers(404, s200=CertificationList))
def get_certifications(params: Annotated[CertificationParams, Query()], services: WithServices) -> Response:
    """List verdicts, the newest first."""
    size = params.size(services.settings)
    with services.database.reading() as tables:
        page = list_certifications(
            tables, params.verdict, waiting=params.waiting, run=params.run, cursor=params.cursor, limit=size
        )
    return changing_json({"items": [certification_item(line) for line in page.items], "next": page.next})

"""Plans: what an evaluation shows and costs before it is run."""

from __future__ import annotations

from fastapi import APIRouter, Response

from pairmark.app.planning.sources import plan_from_stored
from pairmark.app.ports import KeptAnswer
from pairmark.domain.documents.evaluation_plan import EvaluationPlan, PlanRequest
from pairmark.http.answers import kept_json
from pairmark.http.bodies import WithJson
from pairmark.http.documented import answers, json_of
from pairmark.http.once import WithOnce
from pairmark.http.services import WithServices

router = APIRouter(prefix="/v1/plans", tags=["plans"])


@router.post("", openapi_extra=json_of(PlanRequest, required=False), responses=answers(400, 404, 409, 413, 415, s200=EvaluationPlan))
def post_plan(body: WithJson, once: WithOnce, services: WithServices) -> Response:
    """Plan an evaluation. Nothing is stored, so an Idempotency-Key only replays the answer."""
    request, _ = body.read(PlanRequest)

    def answer() -> KeptAnswer:
        with services.turns:
            plan = plan_from_stored(services.database, services.ledgers, request)
        return kept_json(200, plan.model_dump(mode="json", by_alias=True))

    return once.answer_prepared(answer, lambda _, prepared: prepared)

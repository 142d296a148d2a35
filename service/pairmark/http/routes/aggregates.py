"""Aggregates: counts whose episodes nobody has, kept for the record."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from pairmark.app.aggregates import (
    AggregateKept,
    aggregate_metrics,
    read_aggregate,
    submit_aggregate,
    why_uncertifiable,
)
from pairmark.app.ports import KeptAnswer, Tables
from pairmark.app.stored import understood
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.aggregate import Aggregate
from pairmark.http.answers import immutable, kept_json
from pairmark.http.bodies import WithJson
from pairmark.http.documented import answers, json_of
from pairmark.http.models import AggregateAnswer
from pairmark.http.once import WithOnce
from pairmark.http.services import WithServices

router = APIRouter(prefix="/v1/aggregates", tags=["aggregates"])


def aggregate_answer(kept: AggregateKept, aggregate: Aggregate, value: dict[str, Any]) -> dict[str, Any]:
    """An aggregate as answers show it."""
    return {
        "id": kept.id,
        "digest": kept.document,
        "status": "uncertifiable",
        "reasons": [reason.model_dump(mode="json") for reason in why_uncertifiable(aggregate)],
        "metrics": aggregate_metrics(aggregate),
        "aggregate": value,
    }


@router.post(
    "", status_code=201, openapi_extra=json_of(Aggregate), responses=answers(400, 409, 413, 415, s201=AggregateAnswer, s200=AggregateAnswer)
)
def post_aggregate(body: WithJson, once: WithOnce, services: WithServices) -> Response:
    """Keep counts for the record, as uncertifiable with the reasons: 201 new, 200 if the same document is there already."""
    aggregate, value = body.read(Aggregate)

    def keep(tables: Tables) -> KeptAnswer:
        kept = submit_aggregate(tables, aggregate, value, services.new_id, services.clock())
        answer = aggregate_answer(kept, aggregate, value)
        return kept_json(201 if kept.new else 200, answer, {"Location": f"/v1/aggregates/{kept.id}"})

    return once.answer(keep)


@router.get("/{aggregate_id}", responses=answers(304, 404, s200=AggregateAnswer))
def get_aggregate(aggregate_id: str, request: Request, services: WithServices) -> Response:
    """Read an aggregate, and why it has no certificate."""
    with services.database.reading() as tables:
        kept = read_aggregate(tables, aggregate_id)
    aggregate, value = understood(Aggregate, kept.content, kept.document)
    return immutable(request, kept.document, canonical_bytes(aggregate_answer(kept, aggregate, value)))

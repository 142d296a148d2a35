"""Counts of a sealed run."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Request, Response

from pairmark.app.count_run import count_run, run_to_count
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import Count, Strict
from pairmark.http.answers import immutable
from pairmark.http.documented import answers
from pairmark.http.services import WithServices

router = APIRouter(prefix="/v1/runs/{run_id}/counts", tags=["runs"])


class RunCountsAnswer(Strict):
    """Counts of cells × epochs, as a report counts them. Delivery is null in a benign run; `attempts` are lines of the ledger."""

    planned: Count
    present: Count
    delivered: Count | None
    not_delivered: Count | None
    delivery_unknown: Count | None
    assessed: Count
    aborted: Count
    blocked: Count
    attempts: Count


@router.get("", responses=answers(304, 404, s200=RunCountsAnswer))
def get_run_counts(run_id: str, request: Request, services: WithServices) -> Response:
    """Count a sealed run's cells: planned, present, delivered, assessed, aborted, blocked."""
    with services.database.reading() as tables:
        source = run_to_count(tables, run_id)
    content = canonical_bytes(asdict(count_run(source, services.ledgers)))
    return immutable(request, f"{source.seal.document}.counts", content)

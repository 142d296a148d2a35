"""Cascades: everything that rests on a defect is revoked in one logged operation."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, Response

from pairmark.app.cascade import Dependents, cascade, dependents
from pairmark.app.ports import KeptAnswer, Tables
from pairmark.app.status_change import StatusLogged
from pairmark.http.answers import kept_json
from pairmark.http.bodies import WithJson
from pairmark.http.documented import answers, json_of
from pairmark.http.log_models import CascadeAnswer, CascadeRequest
from pairmark.http.once import WithOnce
from pairmark.http.routes.certificates import change_value
from pairmark.http.services import WithServices

router = APIRouter(prefix="/v1/cascades", tags=["certificates"])


@router.post(
    "", status_code=201, openapi_extra=json_of(CascadeRequest),
    responses=answers(400, 404, 409, 413, 415, s200=CascadeAnswer, s201=CascadeAnswer),
)  # fmt: skip
def post_cascade(body: WithJson, once: WithOnce, services: WithServices) -> Response:
    """List every certificate that rests on a defect (200, `dry_run`), or revoke them all under one log entry (201)."""
    asked, _ = body.read(CascadeRequest)
    services.require_operator("end certificates of every organisation")
    once = replace(once, services=services.everywhere())

    def answer(tables: Tables) -> KeptAnswer:
        found = dependents(tables, asked.reason, asked.digest)
        if asked.dry_run:
            return kept_json(200, _value(found, None))
        return kept_json(201, _value(found, cascade(tables, services.signing, asked.reason, asked.digest, asked.note, services.clock())))

    return once.answer(answer)


def _value(found: Dependents, logged: StatusLogged | None) -> dict[str, object]:
    return {
        "suites": list(found.suites), "labels": list(found.labels), "certificates": list(found.certificates),
        "unsigned": list(found.unsigned), "answers": list(found.answers), "comparisons": found.comparisons,
        "change": None if logged is None else change_value(logged),
    }  # fmt: skip

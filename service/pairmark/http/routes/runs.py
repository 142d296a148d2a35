"""Runs: announce, complete, read."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from pairmark.app.amend_run import amend_run
from pairmark.app.announce_run import announce_run
from pairmark.app.ownership import require_own_runs
from pairmark.app.ports import KeptAnswer, StoredRun, Tables
from pairmark.app.read_run import RunRead, read_run
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.run import Run
from pairmark.domain.strict_json import parse
from pairmark.http.answers import changing_json, immutable, kept_json
from pairmark.http.bodies import WithJson
from pairmark.http.documented import answers, json_of
from pairmark.http.models import RunAnswer
from pairmark.http.once import WithOnce
from pairmark.http.services import WithServices

router = APIRouter(prefix="/v1/runs", tags=["runs"])


def run_answer(run: StoredRun, document: Any) -> dict[str, Any]:
    """A run with its latest document."""
    seal = run.seal
    return {
        "id": run.id, "state": run.state, "after_the_fact": run.after_the_fact, "created_at": run.created_at,
        "sealed_at": None if seal is None else seal.created_at, "digest": run.document, "announcement": run.announcement,
        "episodes": None if seal is None else {"count": seal.count, "digest": seal.ledger}, "run": document,
    }


def read_answer(read: RunRead) -> dict[str, Any]:
    """A run as it was read."""
    return run_answer(read.run, parse(read.content))


@router.post(
    "", status_code=201, openapi_extra=json_of(Run), responses=answers(400, 409, 413, 415, s201=RunAnswer, s200=RunAnswer)
)
def post_run(body: WithJson, once: WithOnce, services: WithServices) -> Response:
    """Announce a run, before it starts or, marked so, after the fact; 200 if this complete document is a run already."""
    run, value = body.read(Run)

    def announce(tables: Tables) -> KeptAnswer:
        done = announce_run(tables, run, value, services.new_id("run"), services.clock())
        answer = read_answer(read_run(tables, done.run.id))
        return kept_json(201 if done.new else 200, answer, {"Location": f"/v1/runs/{done.run.id}"})

    return once.answer(announce)


@router.put("/{run_id}", openapi_extra=json_of(Run), responses=answers(400, 404, 409, 413, 415, s200=RunAnswer))
def put_run(run_id: str, body: WithJson, services: WithServices) -> Response:
    """Supply the full document; it may differ from the announced one only where that was null."""
    _, value = body.read(Run)

    def amend(tables: Tables) -> StoredRun:
        require_own_runs(tables, (run_id,))
        return amend_run(tables, run_id, value, services.clock())

    stored = services.database.write(amend)
    return changing_json(run_answer(stored, value))


@router.get("/{run_id}", responses=answers(304, 404, s200=RunAnswer))
def get_run(run_id: str, request: Request, services: WithServices) -> Response:
    """Read a run; once sealed it never changes."""
    with services.database.reading() as tables:
        read = read_run(tables, run_id)
    answer = read_answer(read)
    return changing_json(answer) if read.run.seal is None else immutable(request, read.run.document, canonical_bytes(answer))

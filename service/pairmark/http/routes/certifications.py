"""Certifications: judge a pair, read the verdict, record a disproof."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from pairmark.adapters.telemetry.spans import span
from pairmark.app.certify import Certified, Claim, Evidence, Judged, claim_of, evidence_of, find, judge
from pairmark.app.disprove import disproving_claim
from pairmark.app.ownership import require_own_certification, require_own_runs
from pairmark.app.ports import CancelledJob, Job, KeptAnswer, Tables
from pairmark.app.read_certification import read_certification
from pairmark.app.same_measurement import current, refuse_revoked
from pairmark.app.work_off import cancel, queue, refusal_of, settle
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.disproof import DisproofRecord
from pairmark.domain.strict_json import parse
from pairmark.http.answers import changing_json, immutable, kept_json
from pairmark.http.bodies import WithJson
from pairmark.http.documented import answers, json_of
from pairmark.http.models import CertificationAnswer, CertificationRequest
from pairmark.http.once import Once, WithOnce
from pairmark.http.problems import ProblemResponse, problem, problem_of
from pairmark.http.services import Services, WithServices
from pairmark.http.worker import WithWorker, Worker

router = APIRouter(prefix="/v1/certifications", tags=["certifications"])

ANSWERS = answers(400, 404, 409, 413, 415, 507, s201=CertificationAnswer, s200=CertificationAnswer, s202=CertificationAnswer)
RETRY_SECONDS = "2"

QUEUED_HEADER = "Pairmark-Queued"
"""Says of a 202 whether this very request queued the certification (`now`), or an equal one did (`before`)."""


def done_answer(done: Certified) -> dict[str, Any]:
    """A verdict; the report in it has the very bytes of an offline check."""
    found = done.certification
    return {
        "id": found.id, "state": "done", "certificate": found.certificate, "created_at": found.created_at,
        "runs": {"benign": found.benign, "attacked": found.attacked, "baseline": found.baseline},
        "manifest": found.manifest, "disproves": found.disproves, "progress": None, "report": parse(done.report),
    }


def undone_answer(job: Job | CancelledJob) -> dict[str, Any]:
    """A certification without a result: it waits for its turn, is being worked on, or was cancelled."""
    asked, progress = job.request, None
    if isinstance(job, Job):
        at = job.progress
        progress = {"stage": at.stage, "done": at.done, "steps": at.steps, "percent": at.percent}
    return {
        "id": job.id, "state": "cancelled" if progress is None else "waiting", "certificate": None, "created_at": job.created_at,
        "runs": {"benign": asked["benign"], "attacked": asked["attacked"], "baseline": asked["baseline"]},
        "manifest": asked["manifest"], "disproves": asked["disproves"], "progress": progress, "report": None,
    }


@router.post("", status_code=201, openapi_extra=json_of(CertificationRequest), responses=ANSWERS)
def post_certification(body: WithJson, once: WithOnce, services: WithServices, worker: WithWorker) -> Response:
    """Judge a pair: 201, or 200 with the result that this pair has under this policy already; 202 for a very large one.

    A refusal is a result, not an error.
    """
    asked, _ = body.read(CertificationRequest)
    given = [run for run in (asked.benign, asked.attacked, asked.baseline) if run is not None]

    def claim(tables: Tables) -> Claim:
        found = claim_of(
            tables, services.policies, benign=asked.benign, attacked=asked.attacked, baseline=asked.baseline, policy=asked.policy
        )
        require_own_runs(tables, given)
        return found

    return _judged(once, services, worker, claim)


@router.post("/{certification_id}/disproof", status_code=201, openapi_extra=json_of(DisproofRecord), responses=ANSWERS)
def post_disproof(certification_id: str, body: WithJson, once: WithOnce, services: WithServices, worker: WithWorker) -> Response:
    """Record a reviewer's evidence against a held `sign-plausible`: a new certification of the same pair."""
    _, value = body.read(DisproofRecord)

    def claim(tables: Tables) -> Claim:
        found = disproving_claim(tables, certification_id, value)
        require_own_certification(tables, certification_id)
        return found

    return _judged(once, services, worker, claim)


@router.get("/{certification_id}", responses=answers(304, 404, 409, 410, s200=CertificationAnswer, s202=CertificationAnswer))
def get_certification(certification_id: str, request: Request, services: WithServices) -> Response:
    """Read a verdict; 202 with its progress while it waits or is worked on, 410 once it was cancelled, 409 if it was refused meanwhile."""
    with services.database.reading() as tables:
        found = read_certification(tables, certification_id)
    if isinstance(found, CancelledJob):
        detail = f"expected a certification that is done or waits, found it cancelled at {found.cancelled_at}; POST the certification again to begin afresh"
        return ProblemResponse(problem(410, "certification-cancelled", detail, instance=request.url.path))
    if isinstance(found, Certified):
        return immutable(request, found.certification.report, canonical_bytes(done_answer(found)))
    refusal = refusal_of(found)
    if refusal is not None:
        return ProblemResponse(problem_of(refusal, request.url.path))
    if found.problem is not None:
        detail = "expected to certify this pair, found a fault of the service; it is in the log; POST the certification again to retry"
        return ProblemResponse(problem(500, "certification-failed", detail, instance=request.url.path))
    return changing_json(undone_answer(found), 202, {"Retry-After": RETRY_SECONDS})


@router.delete("/{certification_id}", responses=answers(404, 409, s200=CertificationAnswer))
def delete_certification(certification_id: str, services: WithServices) -> Response:
    """Cancel a certification that waits or is being worked on: it gets no result. 409 if it has one. Asking for it again begins afresh."""
    cancelled = services.database.write(lambda tables: cancel(tables, certification_id, services.clock()))
    return changing_json(undone_answer(cancelled))


def _judged(once: Once, services: Services, worker: Worker, claim: Any) -> Response:
    def prepare() -> Certified | Evidence | Judged:
        with services.database.reading() as tables:
            asked: Claim = current(tables, services.signing, claim(tables))
            there = find(tables, asked)
            if there is not None:
                return there
            evidence = evidence_of(tables, asked)
            refuse_revoked(tables, services.signing, evidence)
        if evidence.episodes > services.settings.wait_episodes:
            return evidence
        with services.turns:
            with services.database.reading() as tables:
                there = find(tables, asked)  # an equal request may have been quicker
            if there is not None:
                return there
            with span("check", episodes=evidence.episodes):
                return judge(evidence, services.ledgers, services.quality)

    def keep(tables: Tables, prepared: Certified | Evidence | Judged) -> KeptAnswer:
        if isinstance(prepared, Judged):
            with span("certify"):
                prepared = settle(tables, prepared, services.signing, services.new_id, services.clock())
        if isinstance(prepared, Evidence):
            queued = queue(tables, prepared.claim, services.new_id("certification"), services.clock())
            if not isinstance(queued, Certified):
                place = {
                    "Location": f"/v1/certifications/{queued.job.id}", "Retry-After": RETRY_SECONDS,
                    QUEUED_HEADER: "now" if queued.new else "before",
                }
                return kept_json(202, undone_answer(queued.job), place)
            prepared = queued
        place = {"Location": f"/v1/certifications/{prepared.certification.id}"}
        return kept_json(201 if prepared.new else 200, done_answer(prepared), place)

    response = once.answer_prepared(prepare, keep)
    if response.status_code == 202:
        worker.wake()
    return response

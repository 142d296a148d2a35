"""Certifications that are too large to wait for: put in a queue, worked off, cancelled.

A job's row is what counts. Its result is recorded in the transaction that removes the row, and a cancelled job's row is moved away; so
however many work on a job, and whenever they are killed or cancelled, one result is recorded or none.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pairmark.app.certify import Certified, Claim, Judged, evidence_of, find, judge, record
from pairmark.app.errors import Unavailable
from pairmark.app.log_records import Signing
from pairmark.app.moments import moment
from pairmark.app.ownership import require_own_certification, require_own_runs
from pairmark.app.ports import CancelledJob, Clock, Database, Job, Ledgers, NewId, Tables
from pairmark.app.same_measurement import REVOKED, refuse_revoked
from pairmark.app.stages import Stage, progress_at
from pairmark.domain.errors import Conflict, NotFound, one_line, shown
from pairmark.rules.base import QualityGate

PROGRESS_SECONDS = 1.0
"""How often at most a job's progress is written, and asked whether it is still wanted."""

DEATHS = 5
"""How many workers may die of a job before it is given up."""

Ending = Literal["done", "dropped", "refused", "failed"]
"""Recorded; cancelled, or somebody else's already; refused, or given up, with the reason at the job."""

_REFUSED = f"refused {REVOKED}: "
"""How a job's problem begins that is an answer. That of a fault begins with a number or the name of a class."""


class NotWanted(Exception):
    """The job was cancelled, or done by somebody else."""


class HandedBack(Exception):
    """The worker is told to stop; somebody else takes the job up."""


@dataclass(frozen=True)
class Queued:
    """The job that will make a certification; its id is the certification's."""

    job: Job
    new: bool


@dataclass(frozen=True)
class Parts:
    """What working off needs."""

    database: Database
    ledgers: Ledgers
    quality: QualityGate
    signing: Signing
    new_id: NewId
    clock: Clock


def queue(tables: Tables, claim: Claim, job_id: str, now: datetime) -> Queued | Certified:
    """Queue a claim. An equal claim that waits is that job, one that was given up is tried again, one with a result is that."""
    done = find(tables, claim)
    if done is not None:
        return done
    there = tables.jobs.of_subject(claim.subject)
    if there is not None:
        if there.problem is not None:
            tables.jobs.give_up(there.id, None)
        return Queued(there, False)
    for digest, content in claim.contents.items():
        tables.documents.put(digest, content)
    request = {
        "benign": claim.benign, "attacked": claim.attacked, "baseline": claim.baseline, "policy": claim.policy,
        "manifest": claim.manifest, "disproof": claim.disproof, "disproves": claim.disproves,
        **({} if claim.instead_of is None else {"instead_of": claim.instead_of}),
    }
    job = Job(job_id, claim.subject, request, moment(now), None)
    tables.jobs.add(job)
    return Queued(job, True)


def settle(tables: Tables, judged: Judged, signing: Signing, new_id: NewId, now: datetime) -> Certified:
    """Record a result under the id that was promised for it, if any was; the job is done then, whoever did it.

    Raises:
        Conflict: the measurement was revoked while the pair was being judged.
    """
    if judged.checked.report.verdict == "certified" and find(tables, judged.evidence.claim) is None:
        tables.log.next_index()  # from here on nobody else revokes anything
        refuse_revoked(tables, signing, judged.evidence)
    job = tables.jobs.of_subject(judged.evidence.claim.subject)
    result = record(tables, judged, signing, new_id, now, certification_id=None if job is None else job.id)
    if job is not None:
        tables.jobs.remove(job.id)
    return result


def refusal_of(job: Job) -> Conflict | None:
    """What a job was refused for; None where it waits, or came to nothing by a fault of the service."""
    if job.problem is None or not job.problem.startswith(_REFUSED):
        return None
    return Conflict(REVOKED, job.problem.removeprefix(_REFUSED))


def cancel(tables: Tables, certification_id: str, now: datetime) -> CancelledJob:
    """Cancel a job that waits or is being worked on: it has no result then, now or later. Cancelling twice is cancelling once.

    Raises:
        NotFound: nothing of this id, as far as the caller sees.
        NotPermitted: another organisation's.
        Conflict: it is done.
    """
    before = tables.jobs.cancelled(certification_id)
    if before is not None:
        return before
    job = tables.jobs.of_id(certification_id)
    if job is None:
        if tables.certifications.of_id(certification_id) is None:
            raise NotFound(
                "unknown-certification", f"expected the id of a certification, found {shown(certification_id)}",
                "pairmark certify (POST /v1/certifications) makes one",
            )
        require_own_certification(tables, certification_id)
        raise Conflict(
            "already-done", f"expected a certification that waits, found {certification_id} done",
            "what is certified can be revoked: pairmark revoke (POST /v1/certificates/{id}/revoke)",
        )
    require_own_runs(tables, [run for run in (job.request["benign"], job.request["attacked"], job.request["baseline"]) if run is not None])
    cancelled = CancelledJob(job.id, job.request, job.created_at, moment(now))
    tables.jobs.cancel(cancelled)
    return cancelled


def work_off(parts: Parts, job_id: str, stopping: Callable[[], bool]) -> Ending:
    """Judge a queued claim and record the result under the job's id. A refusal or a failure is noted at the job.

    Raises:
        HandedBack: `stopping` came true between two steps.
        Unavailable: the database or the store cannot be used now; the job waits.
    """
    claim = parts.database.write(lambda tables: _taken_up(tables, job_id))
    if claim is None:
        return "dropped"
    try:
        return _judged_and_recorded(parts, job_id, claim, _Watch(parts.database, job_id, stopping))
    except NotWanted:
        return "dropped"
    except (HandedBack, Unavailable):
        with suppress(Unavailable):  # then it counts as a death
            parts.database.write(lambda tables: tables.jobs.hand_back(job_id))
        raise
    except Exception as crash:  # noqa: BLE001 - whatever it was, the person who waits has to learn of it
        ending: Ending
        if isinstance(crash, Conflict) and crash.code == REVOKED:
            ending, problem = "refused", f"{_REFUSED}{crash.message}; {crash.remedy}"
        else:
            ending, problem = "failed", f"{type(crash).__name__}: {crash}"
        parts.database.write(lambda tables: tables.jobs.give_up(job_id, one_line(problem, 500)))
        return ending


def _taken_up(tables: Tables, job_id: str) -> Claim | None:
    job = tables.jobs.of_id(job_id)
    if job is None or job.problem is not None:
        return None
    if tables.jobs.take_up(job_id) > DEATHS:
        tables.jobs.give_up(job_id, f"{DEATHS} workers that had taken it up died")
        return None
    return Claim(**job.request)


def _judged_and_recorded(parts: Parts, job_id: str, claim: Claim, watch: _Watch) -> Ending:
    with parts.database.reading() as tables:
        evidence = evidence_of(tables, claim)
    judged = judge(evidence, parts.ledgers, parts.quality, watch)
    watch("recording", 0, 1)

    def finish(tables: Tables) -> Ending:
        if tables.jobs.of_id(job_id) is None:
            return "dropped"
        settle(tables, judged, parts.signing, parts.new_id, parts.clock())
        return "done"

    return parts.database.write(finish)


class _Watch:
    """An `At` that writes progress now and then, and ends the work when it is not wanted or the worker is to stop."""

    def __init__(self, database: Database, job_id: str, stopping: Callable[[], bool]) -> None:
        self._database, self._job_id, self._stopping = database, job_id, stopping
        self._next = time.monotonic()

    def __call__(self, stage: Stage, done: int, steps: int) -> None:
        if self._stopping():
            raise HandedBack
        if time.monotonic() < self._next:
            return
        progress = progress_at(stage, done, steps)
        with suppress(Unavailable):  # progress is not worth failing for
            if not self._database.write(lambda tables: tables.jobs.move(self._job_id, progress)):
                raise NotWanted
        self._next = time.monotonic() + PROGRESS_SECONDS

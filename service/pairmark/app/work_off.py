"""Certifications that are too large to wait for: put in a queue, worked off one by one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pairmark.app.certify import Certified, Claim, evidence_of, find, judge, record
from pairmark.app.log_records import Signing
from pairmark.app.moments import moment
from pairmark.app.ports import Clock, Database, Job, Ledgers, NewId, Tables
from pairmark.domain.errors import one_line
from pairmark.rules.base import QualityGate


@dataclass(frozen=True)
class Queued:
    """The job that will make a certification; its id is the certification's."""

    job: Job
    new: bool


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
    }
    job = Job(job_id, claim.subject, request, moment(now), None)
    tables.jobs.add(job)
    return Queued(job, True)


def work_off(
    database: Database, ledgers: Ledgers, quality: QualityGate, signing: Signing, job: Job, new_id: NewId, clock: Clock
) -> Certified | None:
    """Judge a queued claim and record the result under the job's id. A failure is noted at the job, and None returned."""
    try:
        with database.reading() as tables:
            evidence = evidence_of(tables, Claim(**job.request))
        judged = judge(evidence, ledgers, quality)

        def finish(tables: Tables) -> Certified:
            result = record(tables, judged, signing, new_id, clock(), certification_id=job.id)
            tables.jobs.remove(job.id)
            return result

        return database.write(finish)
    except Exception as crash:  # noqa: BLE001 - whatever it was, the person who waits has to learn of it
        problem = one_line(f"{type(crash).__name__}: {crash}", 500)
        database.write(lambda tables: tables.jobs.give_up(job.id, problem))
        return None

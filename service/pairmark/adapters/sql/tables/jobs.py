"""Certifications that wait. On PostgreSQL a job of the library's queue is made in the same transaction, so that workers learn of it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import literal
from sqlmodel import Session, col, delete, select, update

from pairmark.adapters.sql.models import CancelledJobRow, JobRow
from pairmark.adapters.sql.tables.seen import own_run
from pairmark.app.paging import is_plain
from pairmark.app.ports import CancelledJob, Job
from pairmark.app.stages import QUEUED, SHARES, Progress, Stage
from pairmark.domain.access import Viewer
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.strict_json import parse


class SqlJobs:
    def __init__(self, session: Session, viewer: Viewer) -> None:
        self._session = session
        self._viewer = viewer

    def add(self, job: Job) -> None:
        self._session.add(
            JobRow(
                id=job.id, subject=job.subject, request=canonical_bytes(dict(job.request)), created_at=job.created_at, problem=job.problem,
                **_columns_of(job.progress), begun=0,
            )
        )
        self._session.flush()
        self._tell_workers(job.id)

    def of_id(self, job_id: str) -> Job | None:
        found = _job(self._session.exec(select(JobRow).where(JobRow.id == job_id)).first()) if is_plain(job_id) else None
        return None if found is None or not self._is_own(found) else found

    def _is_own(self, job: Job | CancelledJob) -> bool:
        return bool(self._session.exec(select(own_run(self._viewer, literal(str(job.request["attacked"]))))).one())

    def of_subject(self, subject: str) -> Job | None:
        return _job(self._session.exec(select(JobRow).where(JobRow.subject == subject)).first())

    def waiting(self) -> tuple[Job, ...]:
        asked = select(JobRow).where(col(JobRow.problem).is_(None)).order_by(col(JobRow.created_at), col(JobRow.id))
        return tuple(job for row in self._session.exec(asked) if (job := _job(row)) is not None)

    def give_up(self, job_id: str, problem: str | None) -> None:
        afresh = {**_columns_of(QUEUED), "begun": 0} if problem is None else {}
        self._session.exec(update(JobRow).where(col(JobRow.id) == job_id).values(problem=problem, **afresh))
        if problem is None:
            self._tell_workers(job_id)

    def queue_again(self, job_id: str) -> None:
        asked = select(JobRow.id).where(JobRow.id == job_id, col(JobRow.problem).is_(None))
        if self._session.exec(asked).first() is not None:
            self._tell_workers(job_id)

    def take_up(self, job_id: str) -> int:
        self._session.exec(update(JobRow).where(col(JobRow.id) == job_id).values(begun=col(JobRow.begun) + 1))
        return int(self._session.exec(select(JobRow.begun).where(JobRow.id == job_id)).one())

    def hand_back(self, job_id: str) -> None:
        self._session.exec(update(JobRow).where(col(JobRow.id) == job_id, col(JobRow.begun) > 0).values(begun=col(JobRow.begun) - 1))

    def move(self, job_id: str, progress: Progress) -> bool:
        further = update(JobRow).where(col(JobRow.id) == job_id, col(JobRow.percent) <= progress.percent).values(**_columns_of(progress))
        return self._session.exec(further).rowcount > 0 or self._session.exec(select(JobRow.id).where(JobRow.id == job_id)).first() is not None

    def remove(self, job_id: str) -> None:
        self._session.exec(delete(JobRow).where(col(JobRow.id) == job_id))

    def cancel(self, cancelled: CancelledJob) -> None:
        self._session.add(
            CancelledJobRow(
                id=cancelled.id, request=canonical_bytes(dict(cancelled.request)), created_at=cancelled.created_at,
                cancelled_at=cancelled.cancelled_at,
            )
        )
        self.remove(cancelled.id)

    def cancelled(self, job_id: str) -> CancelledJob | None:
        row = self._session.exec(select(CancelledJobRow).where(CancelledJobRow.id == job_id)).first() if is_plain(job_id) else None
        if row is None:
            return None
        found = CancelledJob(row.id, _request(row.request, row.id), row.created_at, row.cancelled_at)
        return found if self._is_own(found) else None

    def _tell_workers(self, job_id: str) -> None:
        connection = self._session.connection()
        if connection.dialect.name == "postgresql":
            from pairmark.adapters.jobs.deferring import defer

            defer(connection, job_id)


def _columns_of(progress: Progress) -> dict[str, Any]:
    return {"stage": progress.stage, "done": progress.done, "steps": progress.steps, "percent": progress.percent}


def _job(row: JobRow | None) -> Job | None:
    if row is None:
        return None
    progress = Progress(_stage(row.stage), row.done, row.steps, row.percent)
    return Job(row.id, row.subject, _request(row.request, row.id), row.created_at, row.problem, progress)


def _stage(name: str) -> Stage:
    for stage in SHARES:
        if stage == name:
            return stage
    raise ValueError(f"expected the stage of a job to be one of {', '.join(SHARES)}, found {name}")


def _request(content: bytes, job_id: str) -> dict[str, Any]:
    request = parse(content)
    if not isinstance(request, dict):
        raise TypeError(f"expected an object as the request of job {job_id}")
    return request

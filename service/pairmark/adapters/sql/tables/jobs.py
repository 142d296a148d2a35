"""Certifications that wait."""

from __future__ import annotations

from sqlalchemy import literal
from sqlmodel import Session, col, delete, select, update

from pairmark.adapters.sql.models import JobRow
from pairmark.adapters.sql.tables.seen import own_run
from pairmark.app.paging import is_plain
from pairmark.app.ports import Job
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
                id=job.id, subject=job.subject, request=canonical_bytes(dict(job.request)), created_at=job.created_at, problem=job.problem
            )
        )
        self._session.flush()

    def of_id(self, job_id: str) -> Job | None:
        found = _job(self._session.exec(select(JobRow).where(JobRow.id == job_id)).first()) if is_plain(job_id) else None
        return None if found is None or not self._is_own(found) else found

    def _is_own(self, job: Job) -> bool:
        return bool(self._session.exec(select(own_run(self._viewer, literal(str(job.request["attacked"]))))).one())

    def of_subject(self, subject: str) -> Job | None:
        return _job(self._session.exec(select(JobRow).where(JobRow.subject == subject)).first())

    def waiting(self) -> tuple[Job, ...]:
        asked = select(JobRow).where(col(JobRow.problem).is_(None)).order_by(col(JobRow.created_at), col(JobRow.id))
        return tuple(job for row in self._session.exec(asked) if (job := _job(row)) is not None)

    def give_up(self, job_id: str, problem: str | None) -> None:
        self._session.exec(update(JobRow).where(col(JobRow.id) == job_id).values(problem=problem))

    def remove(self, job_id: str) -> None:
        self._session.exec(delete(JobRow).where(col(JobRow.id) == job_id))


def _job(row: JobRow | None) -> Job | None:
    if row is None:
        return None
    request = parse(row.request)
    if not isinstance(request, dict):
        raise TypeError(f"expected an object as the request of job {row.id}")
    return Job(row.id, row.subject, request, row.created_at, row.problem)

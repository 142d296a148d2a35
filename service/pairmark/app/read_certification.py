"""Read a certification, or learn that it waits for its turn."""

from __future__ import annotations

from pairmark.app.certify import Certified
from pairmark.app.ports import CancelledJob, Certification, Job, Tables
from pairmark.app.stored import stored_document
from pairmark.domain.errors import NotFound, shown


def certification_of_id(tables: Tables, certification_id: str) -> Certification:
    """The certification with this id.

    Raises:
        NotFound: there is none (yet).
    """
    found = tables.certifications.of_id(certification_id)
    if found is None:
        raise NotFound(
            "unknown-certification", f"expected the id of a certification, found {shown(certification_id)}",
            "pairmark certify (POST /v1/certifications) makes one",
        )
    return found


def read_certification(tables: Tables, certification_id: str) -> Certified | Job | CancelledJob:
    """The result under this id, or the job that will make it, or that it was cancelled.

    Raises:
        NotFound: neither is there.
    """
    job = tables.jobs.of_id(certification_id)
    if job is not None and tables.certifications.of_id(certification_id) is None:
        return job
    cancelled = tables.jobs.cancelled(certification_id)
    if cancelled is not None:
        return cancelled
    found = certification_of_id(tables, certification_id)
    return Certified(found, stored_document(tables, found.report), False)

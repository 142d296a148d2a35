"""Queues a certification in the transaction that stores it."""

from __future__ import annotations

from functools import cache

import psycopg
from procrastinate import SyncPsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued
from procrastinate.jobs import Job
from procrastinate.manager import JobManager
from sqlalchemy import Connection

QUEUE = "pairmark-certifications"
TASK = "pairmark.certify"


@cache
def _manager() -> JobManager:
    """Only for calls that bring their connection: its own is never opened."""
    return JobManager(SyncPsycopgConnector())


def defer(connection: Connection, certification_id: str) -> None:
    """Queue a certification on a PostgreSQL connection, in its transaction; nothing if it is in the queue already.

    One that is being worked on may be queued once more: whoever comes to it finds it done, or does it again without a second result.
    """
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError(f"expected a connection of psycopg, found {driver!r}")
    job = Job(queue=QUEUE, task_name=TASK, lock=None, queueing_lock=certification_id, task_kwargs={"certification_id": certification_id})
    try:
        with driver.transaction():  # a savepoint: a refusal must not end the transaction around it
            _manager().defer_job(job, connection=driver)
    except AlreadyEnqueued:
        return

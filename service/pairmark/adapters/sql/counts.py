"""What an operator counts: verdicts, the log, the queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import func, select

from pairmark.adapters.sql.database import SqlDatabase
from pairmark.adapters.sql.log_models import LogHeadRow
from pairmark.adapters.sql.models import CertificationRow, JobRow

VERDICTS = ("certified", "quarantined", "refused")


@dataclass(frozen=True)
class Counts:
    """Numbers of one moment, over everything stored."""

    verdicts: Mapping[str, int]
    log_entries: int
    waiting: int
    given_up: int


def counts_of(database: SqlDatabase) -> Counts:
    """The numbers now.

    Raises:
        Unavailable: the database does not answer.
    """
    verdict, problem = CertificationRow.__table__.c.verdict, JobRow.__table__.c.problem  # type: ignore[attr-defined]  # what SQLAlchemy adds
    with database.reading(), database.engine.connect() as connection:
        found = {name: int(number) for name, number in connection.execute(select(verdict, func.count()).group_by(verdict))}
        size = connection.execute(select(LogHeadRow.__table__.c.size)).scalar()  # type: ignore[attr-defined]
        waiting, given_up = (
            int(connection.execute(select(func.count()).select_from(JobRow).where(problem.is_(None) if none else problem.is_not(None))).scalar_one())
            for none in (True, False)
        )
    return Counts({each: found.get(each, 0) for each in VERDICTS}, int(size or 0), waiting, given_up)

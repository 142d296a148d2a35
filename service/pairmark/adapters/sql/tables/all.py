"""All tables, seen through one session."""

from __future__ import annotations

from functools import cached_property

from sqlmodel import Session

from pairmark.adapters.sql.tables.aggregates import SqlAggregates
from pairmark.adapters.sql.tables.audit import SqlAudit
from pairmark.adapters.sql.tables.certificates import SqlCertificates
from pairmark.adapters.sql.tables.certifications import SqlCertifications
from pairmark.adapters.sql.tables.documents import SqlDocuments
from pairmark.adapters.sql.tables.history import SqlHistory
from pairmark.adapters.sql.tables.jobs import SqlJobs
from pairmark.adapters.sql.tables.keys import SqlKeys
from pairmark.adapters.sql.tables.log import SqlLog
from pairmark.adapters.sql.tables.people import SqlPeople
from pairmark.adapters.sql.tables.runs import SqlRuns
from pairmark.adapters.sql.tables.search import SqlSearch
from pairmark.adapters.sql.tables.suites import SqlSuites
from pairmark.adapters.sql.tables.webhooks import SqlWebhooks
from pairmark.app.log_records import LogHead
from pairmark.domain.access import EVERYTHING, FIRST_ORGANISATION, Viewer


class SqlTables:
    """`Tables` on a session, as one viewer sees them; what is added belongs to `owner`."""

    def __init__(self, session: Session, viewer: Viewer = EVERYTHING, owner: str = FIRST_ORGANISATION) -> None:
        self._session = session
        self._viewer = viewer
        self._owner = owner

    @cached_property
    def documents(self) -> SqlDocuments:
        return SqlDocuments(self._session)

    @cached_property
    def suites(self) -> SqlSuites:
        return SqlSuites(self._session)

    @cached_property
    def runs(self) -> SqlRuns:
        return SqlRuns(self._session, self._viewer, self._owner)

    @cached_property
    def certifications(self) -> SqlCertifications:
        return SqlCertifications(self._session, self._viewer)

    @cached_property
    def certificates(self) -> SqlCertificates:
        return SqlCertificates(self._session, self._viewer)

    @cached_property
    def jobs(self) -> SqlJobs:
        return SqlJobs(self._session, self._viewer)

    @cached_property
    def history(self) -> SqlHistory:
        return SqlHistory(self._session, self._viewer)

    @cached_property
    def aggregates(self) -> SqlAggregates:
        return SqlAggregates(self._session)

    @cached_property
    def people(self) -> SqlPeople:
        return SqlPeople(self._session, self._viewer)

    @cached_property
    def webhooks(self) -> SqlWebhooks:
        return SqlWebhooks(self._session)

    @cached_property
    def audit(self) -> SqlAudit:
        return SqlAudit(self._session)

    @cached_property
    def keys(self) -> SqlKeys:
        return SqlKeys(self._session)

    @cached_property
    def log(self) -> SqlLog:
        return SqlLog(self._session, self._viewer)

    @cached_property
    def search(self) -> SqlSearch:
        return SqlSearch(self._session, self._viewer)

    @property
    def extends(self) -> LogHead | None:
        """The head of the log that what was logged through these tables extends; None if nothing was."""
        return self.log.extends if self.grown else None

    @property
    def grown(self) -> bool:
        """Whether anything was logged through these tables."""
        return "log" in self.__dict__ and self.log.grown

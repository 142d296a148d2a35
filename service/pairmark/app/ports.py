"""What the use cases need from outside: tables in one transaction, ledgers, policies, a clock and new ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pairmark.app.log_records import Log
from pairmark.app.people_records import Audit, People
from pairmark.app.records import (
    UNKNOWN_MIX,
    CancelledJob,
    Certificate,
    Certification,
    HistoryEntry,
    HistoryLine,
    HistoryQuery,
    Job,
    KeptAnswer,
    LeftOut,
    ListedCertification,
    Order,
    Reservation,
    RevokedAlike,
    Seal,
    Status,
    StoredRun,
    SuiteLabel,
)
from pairmark.app.stages import Progress
from pairmark.app.webhook_records import Webhooks
from pairmark.domain.documents.policy import Policy

if TYPE_CHECKING:
    import polars as pl
    from typing_extensions import Buffer

    from pairmark.app.search import Found

ResultT = TypeVar("ResultT")

Clock = Callable[[], datetime]
"""The time now, with an offset."""

NewId = Callable[[str], str]
"""A new id of the kind named (`run`, `certification`, `certificate`); never one that was given before."""


class Documents(Protocol):
    """Documents as bytes by digest; written once."""

    def put(self, digest: str, content: bytes) -> None: ...
    def get(self, digest: str) -> bytes | None: ...


class Suites(Protocol):
    def add(self, label: SuiteLabel) -> None: ...
    def of_label(self, name: str, version: str) -> SuiteLabel | None: ...
    def of_digest(self, digest: str) -> tuple[SuiteLabel, ...]:
        """Every label of this content, or of this whole manifest, in the order of registration."""
        ...

    def of_name(self, name: str) -> tuple[SuiteLabel, ...]: ...
    def page(self, name: str | None, after: tuple[str, str, str] | None, limit: int) -> tuple[SuiteLabel, ...]:
        """Up to `limit` labels after (created_at, name, version), in that order."""
        ...


class Runs(Protocol):
    def add(self, run: StoredRun, complete: str | None) -> None:
        """`complete`: digest of a document that came with its results; no two runs share one."""
        ...

    def of_id(self, run_id: str) -> StoredRun | None: ...
    def of_complete(self, document: str) -> StoredRun | None: ...
    def amend(self, run_id: str, number: int, document: str, at: str) -> None: ...
    def seal(self, run_id: str, seal: Seal) -> None: ...


class Certifications(Protocol):
    def add(self, certification: Certification) -> None: ...
    def of_id(self, certification_id: str) -> Certification | None: ...
    def of_subject(self, subject: str) -> Certification | None: ...
    def page(
        self, verdict: str | None, *, waiting: bool, run: str | None = None, after: tuple[str, str] | None, limit: int
    ) -> tuple[ListedCertification, ...]:
        """Up to `limit` verdicts before (created_at, id), the newest first.

        `waiting`: quarantined and not disproved yet; `run`: that use this run in any role.
        """
        ...


class Certificates(Protocol):
    def add(self, certificate: Certificate) -> None: ...
    def of_id(self, certificate_id: str) -> Certificate | None: ...
    def revoked_alike(self, benign: str, attacked: str, run: str) -> tuple[RevokedAlike, ...]:
        """Revoked certificates over these two ledgers that are published, or of the organisation whose `run` is; the oldest first."""
        ...


class Jobs(Protocol):
    """Certifications that wait. A job that is not here, or was given up, is nobody's to finish."""

    def add(self, job: Job) -> None:
        """Queue a job: whoever works off learns of it when this transaction commits."""
        ...

    def of_id(self, job_id: str) -> Job | None: ...
    def of_subject(self, subject: str) -> Job | None: ...
    def waiting(self) -> tuple[Job, ...]:
        """Jobs that were not given up, oldest first."""
        ...

    def give_up(self, job_id: str, problem: str | None) -> None:
        """Note why a job came to nothing, or with None that it is to be tried again, from the beginning."""
        ...

    def queue_again(self, job_id: str) -> None:
        """See to it that whoever works off learns of a job that waits."""
        ...

    def take_up(self, job_id: str) -> int:
        """Note that work on a job begins; how often it was begun by now and neither ended nor handed back."""
        ...

    def hand_back(self, job_id: str) -> None:
        """Take back a `take_up`: it did not end, and not through any fault of the job's."""
        ...

    def move(self, job_id: str, progress: Progress) -> bool:
        """Note how far a job is, unless it was further already; False if it is not to be worked on any more."""
        ...

    def remove(self, job_id: str) -> None: ...
    def cancel(self, cancelled: CancelledJob) -> None:
        """Put a job among the cancelled ones."""
        ...

    def cancelled(self, job_id: str) -> CancelledJob | None: ...


class History(Protocol):
    def add(self, entry: HistoryEntry) -> None: ...
    def page(self, query: HistoryQuery, after: tuple[str | float, str] | None, limit: int) -> tuple[HistoryLine, ...]:
        """Up to `limit` lines after (value of the order, id); those without a value are left out."""
        ...

    def left_out(self, query: HistoryQuery) -> dict[LeftOut, int]:
        """How many entries under the suite's names are not in the comparable answer, by the first reason that holds.

        Names, times and bounds of the query are not asked for: this is of the suite as a whole.
        """
        ...

    def count(self, query: HistoryQuery) -> int:
        """How many standing certificates are over the query's mix, whatever else it asks."""
        ...

    def find(self, entry_id: str) -> HistoryLine | None: ...
    def mark(self, entry_id: str, status: Status) -> None:
        """Note what became of a certificate; kept in step with the log by whoever logs it."""
        ...

    def over(self, suite: str) -> tuple[HistoryLine, ...]:
        """Every certificate over a suite content, whatever became of it."""
        ...

    def has_name(self, suite_name: str) -> bool:
        """Whether any entry stands under this suite name."""
        ...


class Aggregates(Protocol):
    """Submitted aggregates: counts whose episodes nobody has."""

    def add(self, aggregate_id: str, document: str, at: str) -> None: ...
    def of_id(self, aggregate_id: str) -> str | None:
        """Digest of the document."""
        ...

    def of_document(self, document: str) -> str | None:
        """Id of the aggregate with this document."""
        ...


class Search(Protocol):
    """What things are found by, beside their ids."""

    def of_digest(self, digest: str) -> tuple[Found, ...]:
        """Suites, runs, certifications and certificates with a document, ledger or report of this digest."""
        ...

    def suites_named(self, part: str, limit: int) -> tuple[SuiteLabel, ...]:
        """Labels whose name or version contains `part`."""
        ...

    def filters_named(self, name: str, limit: int) -> tuple[tuple[str, str, str], ...]:
        """(kind, suite digest, suite name) of the histories that a filter of that kind finds under exactly `name`."""
        ...


class Keys(Protocol):
    """Idempotency keys."""

    def find(self, key: str) -> Reservation | None: ...
    def reserve(self, reservation: Reservation) -> None:
        """Take a key that is free, or take it over from an earlier reservation."""
        ...

    def finish(self, key: str, token: str, answer: KeptAnswer) -> bool:
        """Keep the answer; False when somebody else holds the key by now."""
        ...

    def release(self, key: str, token: str) -> None: ...
    def forget_before(self, moment: str) -> None: ...


class Tables(Protocol):
    """Everything stored, seen through one transaction."""

    @property
    def documents(self) -> Documents: ...
    @property
    def suites(self) -> Suites: ...
    @property
    def runs(self) -> Runs: ...
    @property
    def certifications(self) -> Certifications: ...
    @property
    def certificates(self) -> Certificates: ...
    @property
    def jobs(self) -> Jobs: ...
    @property
    def history(self) -> History: ...
    @property
    def aggregates(self) -> Aggregates: ...
    @property
    def keys(self) -> Keys: ...
    @property
    def log(self) -> Log: ...
    @property
    def search(self) -> Search: ...
    @property
    def people(self) -> People: ...
    @property
    def webhooks(self) -> Webhooks: ...
    @property
    def audit(self) -> Audit: ...


class Database(Protocol):
    def reading(self) -> AbstractContextManager[Tables]:
        """One consistent view; nothing can be written through it."""
        ...

    def write(self, work: Callable[[Tables], ResultT]) -> ResultT:
        """Run `work` in one transaction and commit; nothing stays if it raises.

        `work` runs again, on a fresh view, when another writer came first; so it must do nothing but use the tables.

        Raises:
            Unavailable: the database cannot be reached, is busy, full or read-only.
        """
        ...


class Ledgers(Protocol):
    """Sealed ledgers by digest, in canonical order."""

    def outcomes(self, object_digest: str) -> pl.DataFrame:
        """The columns that numbers are made of, as they were kept; their digest was proven when a verdict was given."""
        ...

    def frame(self, digest: str) -> pl.DataFrame: ...
    def keep_object(self, digest: str, pieces: Iterable[Buffer]) -> None:
        """Keep bytes that a document names by their digest; once, however often they come.

        Raises:
            Unavailable: they cannot be stored.
        """
        ...

    def rows_root(self, digest: str) -> str:
        """Root over the ledger's rows, salted with a secret that is this ledger's and never shown whole."""
        ...


class NamedPolicy(Protocol):
    @property
    def policy(self) -> Policy: ...
    @property
    def value(self) -> dict[str, Any]: ...
    @property
    def digest(self) -> str: ...


class Policies(Protocol):
    def __call__(self, name: str) -> NamedPolicy:
        """The policy called `NAME/VERSION`.

        Raises:
            Malformed: there is none, with code `unknown-policy`.
        """
        ...


__all__ = [
    "UNKNOWN_MIX",
    "Aggregates",
    "CancelledJob",
    "Certificate",
    "Certificates",
    "Certification",
    "Certifications",
    "Clock",
    "Database",
    "Documents",
    "History",
    "HistoryEntry",
    "HistoryLine",
    "HistoryQuery",
    "Job",
    "Jobs",
    "KeptAnswer",
    "Keys",
    "Ledgers",
    "LeftOut",
    "ListedCertification",
    "NamedPolicy",
    "NewId",
    "Order",
    "Policies",
    "Reservation",
    "RevokedAlike",
    "Runs",
    "Seal",
    "Search",
    "Status",
    "StoredRun",
    "SuiteLabel",
    "Suites",
    "Tables",
]

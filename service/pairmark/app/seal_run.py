"""Seal a run: its ledger is stored as an object first, then one row makes it readable."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pairmark.app.log_writes import log_seal
from pairmark.app.moments import moment
from pairmark.app.ports import Seal, StoredRun, Tables
from pairmark.app.read_run import run_of_id
from pairmark.app.stored import stored_document, understood
from pairmark.domain.documents.run import LedgerReference, Run
from pairmark.domain.errors import Conflict, Malformed


@dataclass(frozen=True)
class OpenRun:
    """A run that awaits a ledger, or has one: its document, and what that declares of the ledger."""

    run: StoredRun
    declared: LedgerReference


@dataclass(frozen=True)
class ReadLedger:
    """A ledger that was read, checked and stored as an object under its canonical digest."""

    digest: str
    count: int


@dataclass(frozen=True)
class RunSealed:
    """The sealed run; `new` if this call sealed it."""

    run: StoredRun
    new: bool


def open_run(tables: Tables, run_id: str) -> OpenRun:
    """What an upload must hold, asked before it is read.

    Raises:
        NotFound: no such run.
        Conflict: its document does not declare the ledger yet.
    """
    run = run_of_id(tables, run_id)
    document, _ = understood(Run, stored_document(tables, run.document), run.document)
    if document.episodes is None:
        raise Conflict(
            "ledger-not-declared", f"expected run {run_id} to declare its episodes' count and digest, found `episodes` null",
            "supply the full document first: PUT /v1/runs/{id}",
        )
    return OpenRun(run, document.episodes)


def check_ledger(expected: OpenRun, found: ReadLedger) -> None:
    """Refuse a ledger that is not the declared one.

    Raises:
        Conflict: the run is sealed with another ledger.
        Malformed: the declared count or digest does not hold.
    """
    seal, declared = expected.run.seal, expected.declared
    if seal is not None and (found.digest, found.count) != (seal.ledger, seal.count):
        raise Conflict(
            "run-sealed", f"expected the ledger that run {expected.run.id} was sealed with ({seal.ledger}), found {found.digest}",
            "a sealed run never changes; announce another one",
        )
    if found.count != declared.count:
        raise Malformed(
            "count-mismatch", f"expected {declared.count} episodes as declared, found {found.count}", None, None, "/episodes/count",
            "upload the ledger that the run document declares",
        )
    if found.digest != declared.digest:
        raise Malformed(
            "digest-mismatch", f"expected a ledger with digest {declared.digest} as declared, found {found.digest}", None, None,
            "/episodes/digest", "upload the ledger that the run document declares",
        )


def seal_run(tables: Tables, expected: OpenRun, ledger: ReadLedger, now: datetime) -> RunSealed:
    """Seal the run of `expected` with `ledger`, whose object is stored already. The same ledger again changes nothing.

    Raises:
        Conflict: the run was sealed with another ledger, or its document changed, while the ledger was being read.
        Malformed: the declared count or digest does not hold.
    """
    current = open_run(tables, expected.run.id)
    check_ledger(current, ledger)
    run = current.run
    if run.seal is not None:
        return RunSealed(run, False)
    seal = Seal(run.document, ledger.digest, ledger.count, moment(now))
    tables.runs.seal(run.id, seal)
    log_seal(tables, run.id, seal)
    sealed = StoredRun(
        id=run.id, arm=run.arm, suite=run.suite, announcement=run.announcement, document=run.document,
        amendments=run.amendments, after_the_fact=run.after_the_fact, created_at=run.created_at, seal=seal,
    )
    return RunSealed(sealed, True)

"""Announce a run before its results exist, or hand it in afterwards, marked so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pairmark.app.log_writes import log_announcement
from pairmark.app.moments import moment
from pairmark.app.ports import StoredRun, Tables
from pairmark.domain.canonical import canonical_bytes, digest_of
from pairmark.domain.documents.run import Run
from pairmark.domain.errors import Malformed


@dataclass(frozen=True)
class RunAnnounced:
    """The run as it stands; `new` if this call made it."""

    run: StoredRun
    new: bool


def has_results(run: Run) -> bool:
    """True unless everything that only a run's end can tell is null."""
    model = run.system.model
    return run.episodes is not None or run.finished_at is not None or (model is not None and model.served is not None)


def announce_run(tables: Tables, run: Run, value: dict[str, Any], run_id: str, now: datetime) -> RunAnnounced:
    """Store `run`, written as `value`, as an announced run with the id `run_id`.

    Every announcement without results is a run of its own. A complete document that is already a run's is that run.

    Raises:
        Malformed: its suite is not registered.
    """
    require_suite(tables, run)
    document = digest_of(value)
    complete = document if run.episodes is not None else None
    if complete is not None:
        there = tables.runs.of_complete(complete)
        if there is not None:
            return RunAnnounced(there, False)
    stored = StoredRun(
        id=run_id, arm=run.arm, suite=run.suite.digest, announcement=document, document=document, amendments=0,
        after_the_fact=has_results(run), created_at=moment(now), seal=None,
    )
    tables.documents.put(document, canonical_bytes(value))
    tables.runs.add(stored, complete)
    log_announcement(tables, stored, value)
    return RunAnnounced(stored, True)


def require_suite(tables: Tables, run: Run) -> None:
    """Refuse a run of a suite content that is not registered."""
    if not any(label.digest == run.suite.digest for label in tables.suites.of_digest(run.suite.digest)):
        raise Malformed(
            "unknown-suite", f"expected the digest of a registered suite, found {run.suite.digest}", None, None, "/suite/digest",
            "register the suite first: pairmark suite register (POST /v1/suites)",
        )

"""Read a run and its document."""

from __future__ import annotations

from dataclasses import dataclass

from pairmark.app.errors import NotFoundAt
from pairmark.app.ports import Seal, StoredRun, Tables
from pairmark.app.stored import stored_document
from pairmark.domain.errors import NotFound, shown


@dataclass(frozen=True)
class RunRead:
    """A run and the bytes of its latest document."""

    run: StoredRun
    content: bytes


def run_of_id(tables: Tables, run_id: str, pointer: str | None = None) -> StoredRun:
    """The run with this id; `pointer` is where a request names it.

    Raises:
        NotFound: there is none.
    """
    run = tables.runs.of_id(run_id)
    if run is None:
        raise NotFoundAt("unknown-run", f"expected the id of a run, found {shown(run_id)}", "hand it in with pairmark submit (POST /v1/runs)", pointer)
    return run


def read_run(tables: Tables, run_id: str) -> RunRead:
    """The run and its document."""
    run = run_of_id(tables, run_id)
    return RunRead(run, stored_document(tables, run.document))


def sealed_ledger(tables: Tables, run_id: str) -> Seal:
    """The seal of a run whose episodes can be read.

    Raises:
        NotFound: no such run, or it has no ledger yet.
    """
    run = run_of_id(tables, run_id)
    if run.seal is None:
        raise NotFound(
            "no-episodes", f"expected a sealed run, found {run_id} announced and without episodes",
            "upload them with PUT /v1/runs/{id}/episodes",
        )
    return run.seal

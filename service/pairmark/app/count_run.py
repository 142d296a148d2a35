"""How much of a sealed run is there: planned, present, delivered, assessed, and beside it aborted and blocked."""

from __future__ import annotations

from dataclasses import dataclass

from pairmark.app.ports import Ledgers, Seal, Tables
from pairmark.app.read_run import run_of_id, sealed_ledger
from pairmark.app.read_suite import first_of_digest
from pairmark.app.stored import stored_document, understood
from pairmark.domain.cells import cell_table
from pairmark.domain.documents.run import Run
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.evidence import Arm
from pairmark.domain.plan import Plan

KEPT = 1024
_counts: dict[tuple[str, str], RunCounts] = {}
"""By run document and suite digest, which the counts follow from; a sealed run never changes."""


@dataclass(frozen=True)
class RunCounts:
    """Counts of cells × epochs of a run, as a report counts them; cells outside the plan are in none.

    Attributes:
        planned: planned cells × declared epochs.
        present: of them in the ledger.
        delivered, not_delivered, delivery_unknown: present ones by what is recorded of the injection; None in a benign run.
        assessed, aborted, blocked: present ones by status; the blocked are assessed.
        attempts: lines of the ledger.
    """

    planned: int
    present: int
    delivered: int | None
    not_delivered: int | None
    delivery_unknown: int | None
    assessed: int
    aborted: int
    blocked: int
    attempts: int


@dataclass(frozen=True, eq=False)
class CountedRun:
    """What the counts are taken over."""

    suite: SuiteManifest
    suite_digest: str
    run: Run
    seal: Seal


def run_to_count(tables: Tables, run_id: str) -> CountedRun:
    """The documents behind the counts.

    Raises:
        NotFound: no such run, or it has no ledger yet.
    """
    seal, stored = sealed_ledger(tables, run_id), run_of_id(tables, run_id)
    label = first_of_digest(tables, stored.suite)
    suite, _ = understood(SuiteManifest, stored_document(tables, label.manifest), label.manifest)
    run, _ = understood(Run, stored_document(tables, seal.document), seal.document)
    return CountedRun(suite, label.digest, run, seal)


def count_run(source: CountedRun, ledgers: Ledgers) -> RunCounts:
    """The counts of a sealed run; worked out once for each process."""
    key = source.seal.document, source.suite_digest
    found = _counts.get(key)
    if found is None:
        found = _count(source, ledgers)
        if len(_counts) >= KEPT:
            _counts.clear()
        _counts[key] = found
    return found


def _count(source: CountedRun, ledgers: Ledgers) -> RunCounts:
    plan, run = Plan(source.suite), source.run
    benign = run.arm == "benign"
    arm = Arm("benign" if benign else "attacked", run, source.seal.document, ledgers.outcomes(source.seal.ledger), source.seal.ledger)
    cells = cell_table(arm, plan)
    kept = cells.expected

    def delivered(value: int) -> int | None:
        return None if benign else int((kept & (cells.delivered == value)).sum())

    return RunCounts(
        planned=(plan.tasks if benign else plan.cells) * len(run.epochs),
        present=int(kept.sum()),
        delivered=delivered(1),
        not_delivered=delivered(0),
        delivery_unknown=delivered(-1),
        assessed=int((kept & cells.assessed).sum()),
        aborted=int((kept & cells.aborted).sum()),
        blocked=int((kept & cells.blocked).sum()),
        attempts=arm.ledger.height,
    )

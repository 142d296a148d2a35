"""Where a plan's inputs are kept: registered suites and released certificates."""

from __future__ import annotations

from pairmark.app.compare import pair_of, released
from pairmark.app.plan_evaluation import plan_evaluation
from pairmark.app.planning.inputs import PlannedSuite
from pairmark.app.planning.pilot import pilot_facts
from pairmark.app.ports import Database, Ledgers
from pairmark.app.read_suite import resolve_suite
from pairmark.app.stored import stored_document, understood
from pairmark.domain.documents.evaluation_plan import EvaluationPlan, PlanRequest
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.plan import Plan


def plan_from_stored(database: Database, ledgers: Ledgers, request: PlanRequest) -> EvaluationPlan:
    """The plan for a request whose `suite` is a digest or label and whose `pilot` is a certificate's id.

    Raises:
        NotFound, Conflict: an unknown suite or certificate, a name with several contents, a revoked pilot.
        Malformed: as `plan_evaluation`.
    """
    suite = source = None
    with database.reading() as tables:
        if request.suite is not None:
            label = resolve_suite(tables, request.suite)
            manifest, _ = understood(SuiteManifest, stored_document(tables, label.manifest), label.manifest)
            suite = PlannedSuite.of(Plan(manifest), label.digest)
        if request.pilot is not None:
            source = released(tables, request.pilot)
    pilot = None if source is None else pilot_facts(pair_of(source, ledgers))
    return plan_evaluation(request, suite, pilot)

"""Compare released certificates: read what they rest on, compare, and on refusal say what does compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pairmark.app.certify import Claim, Evidence, evidence_of
from pairmark.app.comparison.compare import Reweight, compare, compare_several
from pairmark.app.comparison.pair import CertifiedPair
from pairmark.app.comparison.refusals import NotComparable
from pairmark.app.history_entry import DEFINITION
from pairmark.app.ports import Database, HistoryQuery, Ledgers, Tables
from pairmark.app.read_certification import certification_of_id
from pairmark.app.stored import Damaged, stored_document, understood
from pairmark.domain.documents.comparison import Comparison, ComparisonSet
from pairmark.domain.documents.report import Report
from pairmark.domain.errors import Conflict, Malformed, NotFound, shown
from pairmark.domain.evidence import Arm, Experiment, Role

MOST_OTHERS = 20
NEAREST_LISTED = 20


@dataclass(frozen=True, eq=False)
class Released:
    """A certificate's evidence and report, as stored; `superseded` says that a newer certificate stands in its place."""

    certificate: str
    evidence: Evidence
    report: Report
    definition: str
    superseded: bool


def released(tables: Tables, certificate_id: str) -> Released:
    """The certificate with this id, with what it rests on.

    Raises:
        NotFound: there is none.
        Conflict: it was revoked.
    """
    certificate, line = tables.certificates.of_id(certificate_id), tables.history.find(certificate_id)
    if certificate is None:
        hint = "an aggregate has no episodes to compare" if line is not None else "pairmark history (GET /v1/history) lists certificates"
        raise NotFound("unknown-certificate", f"expected the id of a certificate, found {shown(certificate_id)}", hint)
    if line is None:
        raise Damaged(f"expected certificate {certificate_id} in history, found none; restore it from a backup")
    if line.status == "revoked":
        raise Conflict(
            "certificate-revoked", f"expected a certificate that stands, found {certificate_id} revoked",
            "its numbers are no longer vouched for: compare another one",
        )
    found = certification_of_id(tables, certificate.certification)
    claim = Claim(found.benign, found.attacked, found.baseline, found.policy, found.manifest, found.disproof, found.disproves)
    report, _ = understood(Report, stored_document(tables, found.report), found.report)
    return Released(certificate_id, evidence_of(tables, claim), report, line.definition, line.status == "superseded")


def pair_of(source: Released, ledgers: Ledgers) -> CertifiedPair:
    """The pair with its episodes. The baseline is not read: no comparison looks at it."""

    def arm(role: Role) -> Arm:
        _, seal, run = source.evidence.runs[role]
        return Arm(role, run, seal.document, ledgers.outcomes(seal.ledger), seal.ledger)

    experiment = Experiment(source.evidence.suite, source.evidence.suite_digest, arm("benign"), arm("attacked"), None)
    return CertifiedPair(experiment, source.report, source.certificate, source.definition)


def compare_certificates(
    database: Database, ledgers: Ledgers, left: str, others: Sequence[str], reweight: Reweight | None
) -> Comparison | ComparisonSet:
    """`left` against one other certificate, or against each of several with Holm's adjustment.

    Raises:
        NotFound: a certificate that is not there.
        Conflict: one that was revoked, or two that do not compare (`NotComparable`, with what does).
        Malformed: no other, too many, or one of them twice.
    """
    _check(left, others)
    with database.reading() as tables:
        sources = [released(tables, one) for one in (left, *others)]
        shown = all(tables.people.episodes_open(run.id) for source in sources for run, _, _ in source.evidence.runs.values())
    first, *rest = (pair_of(source, ledgers) for source in sources)
    try:
        found = compare(first, rest[0], reweight) if len(rest) == 1 else compare_several(first, rest, reweight)
    except NotComparable as refused:
        raise _with_nearest(database, refused, sources[0], sources[1:]) from None
    return _with_cautions(found if shown else _without_cells(found), sources)


def _without_cells(found: Comparison | ComparisonSet) -> Comparison | ComparisonSet:
    """Numbers without single outcomes: a side was published without its episodes, and the other side's are known."""
    if isinstance(found, ComparisonSet):
        return found.model_copy(update={"comparisons": tuple(_uncelled(one) for one in found.comparisons)})
    return _uncelled(found)


def _uncelled(comparison: Comparison) -> Comparison:
    if comparison.flips is None:
        return comparison
    flips = {
        name: table.model_copy(update={"cells": ()})
        for name, table in (("utility_under_attack", comparison.flips.utility_under_attack), ("benign_utility", comparison.flips.benign_utility))
    }
    more = "single flips are not shown: a certificate was published without its episodes"
    return comparison.model_copy(update={"flips": comparison.flips.model_copy(update=flips), "cautions": (*comparison.cautions, more)})


def _check(left: str, others: Sequence[str]) -> None:
    if not 1 <= len(others) <= MOST_OTHERS:
        raise Malformed(
            "invalid-parameter", f"expected 1 to {MOST_OTHERS} certificates to compare with, found {len(others)}",
            remedy="give `right` so many times",
        )
    if len({left, *others}) != len(others) + 1:
        raise Malformed(
            "same-certificate", "expected different certificates, found one of them twice", remedy="name each certificate once"
        )


def _with_nearest(database: Database, refused: NotComparable, left: Released, others: Sequence[Released]) -> NotComparable:
    """The refusal with the certificates that compare directly with either side."""
    with database.reading() as tables:
        beside_left = _over_one_mix(tables, left)
        beside_right = _over_one_mix(tables, others[0]) if len(others) == 1 else []
    nearest: dict[str, Any] = {**refused.nearest, "compare_with_left": beside_left}
    if len(others) == 1:
        nearest["compare_with_right"] = beside_right
    return replace(refused, nearest=nearest)


def _over_one_mix(tables: Tables, source: Released) -> list[str]:
    """Certificates over the same mix, the newest first, without the one itself."""
    query = HistoryQuery(source.evidence.suite_digest, source.evidence.suite.weighting, DEFINITION)
    lines = tables.history.page(query, None, NEAREST_LISTED + 1)
    return [line.certificate for line in lines if line.certificate != source.certificate][:NEAREST_LISTED]


def _with_cautions(found: Comparison | ComparisonSet, sources: Sequence[Released]) -> Comparison | ComparisonSet:
    """Say of each comparison which of its certificates were superseded."""
    superseded = {source.certificate for source in sources if source.superseded}
    if not superseded:
        return found
    if isinstance(found, ComparisonSet):
        return found.model_copy(update={"comparisons": tuple(_cautioned(one, superseded) for one in found.comparisons)})
    return _cautioned(found, superseded)


def _cautioned(comparison: Comparison, superseded: set[str]) -> Comparison:
    sides = (("left", comparison.left), ("right", comparison.right))
    more = tuple(f"the {name} certificate was superseded by a newer one" for name, side in sides if side.certificate in superseded)
    return comparison.model_copy(update={"cautions": (*comparison.cautions, *more)})

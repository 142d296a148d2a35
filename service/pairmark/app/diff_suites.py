"""The diff of two registered suites, and which certificates it is about."""

from __future__ import annotations

from pairmark.app.history_entry import DEFINITION
from pairmark.app.ports import HistoryQuery, Tables
from pairmark.app.read_suite import read_suite
from pairmark.app.stored import understood
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.documents.suite_diff import CertificatesOver, OverOneSide, SuiteDiff
from pairmark.domain.suite_diff import diff_suites

NEWEST_LISTED = 100


def diff_registered(tables: Tables, left: str, right: str, *, certificates: bool = False) -> SuiteDiff:
    """What changed between two registered suites, by digest; with the standing certificates over either if asked for.

    Raises:
        NotFound: a digest that nothing is registered under.
    """
    sides = []
    for digest in (left, right):
        found = read_suite(tables, digest)
        sides.append((understood(SuiteManifest, found.content, digest)[0], found.label.digest))
    (before, before_digest), (after, after_digest) = sides
    diff = diff_suites(before, before_digest, after, after_digest)
    if not certificates:
        return diff
    over = CertificatesOver(
        left=_over(tables, before_digest, before.weighting), right=_over(tables, after_digest, after.weighting)
    )
    return diff.model_copy(update={"certificates": over})


def _over(tables: Tables, digest: str, weighting: str) -> OverOneSide:
    query = HistoryQuery(digest, weighting, DEFINITION)
    lines = tables.history.page(query, None, NEWEST_LISTED)
    return OverOneSide(count=tables.history.count(query), newest=tuple(line.certificate for line in lines))

"""Revoke everything that rests on a defect of a suite or of a checker: in one logged operation, listed first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import chain, combinations, islice
from math import comb
from typing import Literal
from urllib.parse import urlencode

from pairmark.app.log_records import Signing
from pairmark.app.ports import Tables
from pairmark.app.register_suite import manifest_value
from pairmark.app.status_change import StatusLogged, log_status
from pairmark.domain.errors import Conflict, NotFound, shown

DefectKind = Literal["suite-defect", "checker-defect"]
MOST_AT_ONCE = 100_000
PAIRS_LISTED = 100


@dataclass(frozen=True)
class Dependents:
    """What rests on a defect: contents by digest, their labels, and the certificates over them that are not revoked yet.

    `unsigned` were made before there was a log; no statement can name them. `answers` are what readers ask that will be answered
    otherwise, as paths: each history over such a content, and each two certificates that compare within it now and no more then.
    `comparisons` counts the latter; the first hundred are listed.
    """

    suites: tuple[str, ...]
    labels: tuple[str, ...]
    certificates: tuple[str, ...]
    unsigned: tuple[str, ...]
    answers: tuple[str, ...]
    comparisons: int


def dependents(tables: Tables, kind: DefectKind, digest: str) -> Dependents:
    """Everything over the suite content `digest` (`suite-defect`), or over any suite with that checker (`checker-defect`).

    Raises:
        NotFound: no registered suite is, or has, that.
    """
    labels = [label for label in tables.suites.of_digest(digest) if label.digest == digest] if kind == "suite-defect" else []
    if kind == "checker-defect":
        labels = [label for label in tables.suites.page(None, None, MOST_AT_ONCE) if digest in _checkers(manifest_value(tables, label))]
    if not labels:
        what = "suite content" if kind == "suite-defect" else "checker of a registered suite"
        raise NotFound("unknown-defect", f"expected the digest of a {what}, found {shown(digest)}", "the page /suites, and GET /v1/suites, list them")
    suites = tuple(dict.fromkeys(label.digest for label in labels))
    standing = [entry for suite in suites for entry in tables.history.over(suite) if entry.status in ("valid", "superseded")]
    signed = [entry.certificate for entry in standing if tables.log.release_of(entry.certificate) is not None]
    unsigned = sorted({entry.certificate for entry in standing} - set(signed))
    named = tuple(f"{label.name}@{label.version}" for label in labels)
    histories = [f"/v1/history?{urlencode({'suite': name})}" for name in named] if standing else []
    within = [[entry.certificate for entry in standing if entry.suite == suite] for suite in suites]
    pairs = islice(chain.from_iterable(combinations(names, 2) for names in within), PAIRS_LISTED)
    compared = [f"/v1/comparisons?{urlencode({'left': left, 'right': right})}" for left, right in pairs]
    count = sum(comb(len(names), 2) for names in within)
    return Dependents(suites, named, tuple(sorted(signed)), tuple(unsigned), (*histories, *compared), count)


def cascade(tables: Tables, signing: Signing, kind: DefectKind, digest: str, note: str | None, now: datetime) -> StatusLogged:
    """Revoke every dependent certificate under one statement and one log entry.

    Raises:
        NotFound: no registered suite is, or has, that.
        Conflict: nothing is left to revoke.
    """
    found = dependents(tables, kind, digest)
    if not found.certificates:
        raise Conflict("nothing-depends", "expected certificates that rest on this defect, found none that stand", "nothing is left to do")
    return log_status(tables, signing, found.certificates, "revoked", kind, now, note=note)


def _checkers(manifest: dict[str, list[dict[str, str]]]) -> set[str]:
    return {item["checker"] for key in ("tasks", "injections") for item in manifest[key]}

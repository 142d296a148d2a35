"""Certifications, the newest first: what was released, what was refused, what waits for a reviewer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from pairmark.app.paging import Page, cursor_at, place_of, query_mark
from pairmark.app.ports import ListedCertification, Status, SuiteLabel, Tables
from pairmark.app.read_run import read_run, run_of_id
from pairmark.app.stored import Damaged, understood
from pairmark.domain.documents.run import Run


@dataclass(frozen=True)
class CertificationLine:
    """A verdict in a list. `system` and `attack` are the attacked run's; `metrics` and `status` are null unless it was certified."""

    listed: ListedCertification
    suite: SuiteLabel
    system: dict[str, Any]
    attack: dict[str, Any] | None
    metrics: dict[str, Any] | None
    status: Status | None


def list_certifications(
    tables: Tables, verdict: str | None, *, waiting: bool, run: str | None = None, cursor: str | None, limit: int
) -> Page[CertificationLine]:
    """Certifications, the newest first.

    Args:
        tables: what the caller may see.
        verdict: only these.
        waiting: only quarantined ones that nobody has answered with a disproof.
        run: only those that use the run with this id, in any role.
        cursor: `next` of the page before.
        limit: items in the page.

    Raises:
        Malformed: a cursor of another list.
        NotFound: no such run.
    """
    if run is not None:
        run_of_id(tables, run)
    mark = query_mark(["certifications", verdict, waiting, run])
    place = place_of(cursor, mark, (str, str))
    after = None if place is None else (str(place[0]), str(place[1]))
    found = tables.certifications.page(verdict, waiting=waiting, run=run, after=after, limit=limit + 1)
    items = found[:limit]
    further = None
    if len(found) > limit:
        last = items[-1].certification
        further = cursor_at(mark, (last.created_at, last.id))
    return Page(tuple(_line(tables, one) for one in items), further)


def _line(tables: Tables, listed: ListedCertification) -> CertificationLine:
    found = listed.certification
    labels = tables.suites.of_digest(found.manifest)
    if not labels:
        raise Damaged(f"expected the suite {found.manifest} of certification {found.id}, found none; restore it from a backup")
    read = read_run(tables, found.attacked)
    run, _ = understood(Run, read.content, read.run.document)
    model, scaffold = run.system.model, run.system.scaffold
    system = {
        "model": {
            "requested": None if model is None else model.requested,
            "served": [] if model is None or model.served is None else list(model.served),
        },
        "defenses": None if run.system.defenses is None else [one.model_dump(mode="json") for one in run.system.defenses],
        "scaffold": None if scaffold is None else scaffold.model_dump(mode="json"),
    }
    attack = None if run.attack is None else run.attack.model_dump(mode="json")
    line = None if found.certificate is None else tables.history.find(found.certificate)
    if line is None:
        return CertificationLine(listed, labels[0], system, attack, None, None)
    summary = orjson.loads(line.summary)
    return CertificationLine(listed, labels[0], summary["system"], summary["attack"], summary["metrics"], line.status)

"""Certificates: the released numbers, what is behind them, and how to check them without us."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query, Request, Response

from pairmark.adapters.tables.latex import history_table
from pairmark.app.certificate_cells import KINDS
from pairmark.app.errors import NotPermitted
from pairmark.http.pages.checklist import questions
from pairmark.http.pages.plots.heat_map import HeatMap, heat_map
from pairmark.http.pages.rendering import page
from pairmark.http.pages.routing import page_router
from pairmark.http.pages.sources import Answer, Sources, WithSources

router = page_router()

PAIRS = 100
Place = Annotated[int, Query(ge=0)]


@router.get("/certificates/{certificate_id}")
def get_certificate(certificate_id: str, request: Request, sources: WithSources, row: Place = 0, column: Place = 0) -> Response:
    """A certificate."""
    found = sources.certificate(certificate_id)
    standing = sources.standing(certificate_id)
    certificate, origin = found["certificate"], str(request.base_url).rstrip("/")
    run = sources.run(certificate["runs"]["attacked"]["id"])["run"]
    cells = _map(sources, certificate_id, row, column)
    return page(
        request, "certificate.html", certificate=certificate, digest=found["digest"], report=found["report"], metrics=found["report"]["metrics"],
        standing=standing, run=run, label=sources.suite(certificate["suite"]["manifest"])[1], questions=questions(found["report"]["findings"]),
        map=cells,
        citation=None if standing is None else sources.citation(certificate_id), latex=_latex_row(sources, certificate),
        root_digest=sources.root_digest, origin=origin, artifacts_commands=None if cells is None else _artifacts_commands(certificate, origin),
    )  # fmt: skip


@router.get("/certificates/{certificate_id}/cells")
def get_pairs(
    certificate_id: str, request: Request, sources: WithSources, kind: Literal["lost", "gained", "kept", "neither", ""] = "",
    task: str = "", injection: str = "", start: Place = 0,
) -> Response:  # fmt: skip
    """Pairs of outcomes, by kind, task and injection."""
    found = sources.certificate(certificate_id)
    pairs, following = sources.pairs(certificate_id, [kind] if kind else KINDS, task or None, injection or None, start, PAIRS)
    return page(
        request, "pairs.html", certificate=found["certificate"], pairs=pairs, next=following, before=max(0, start - PAIRS) if start else None,
        kind=kind, task=task, injection=injection, kinds=KINDS, flips=found["report"]["metrics"]["flips"],
    )  # fmt: skip


def _map(sources: Sources, certificate_id: str, row: int, column: int) -> HeatMap | None:
    """The map of cells; None where its episodes are not public."""
    try:
        return heat_map(sources.cells(certificate_id), row, column)
    except NotPermitted:
        return None


def _artifacts_commands(certificate: Answer, origin: str) -> str:
    """How to fetch what the certificate rests on, and to verify all of it."""
    runs = {role: run["id"] for role, run in certificate["runs"].items() if run is not None}
    lines = [f"mkdir -p {' '.join(f'artifacts/{role}' for role in runs)}", f"curl -fsS {origin}/v1/suites/{certificate['suite']['manifest']} -o artifacts/suite.json"]
    for role, run in runs.items():
        lines += [
            f"curl -fsS {origin}/v1/runs/{run} | jq .run > artifacts/{role}/run.json",
            f"curl -fsS '{origin}/v1/runs/{run}/episodes?format=ndjson' -o artifacts/{role}/episodes.jsonl",
        ]
    return "\n".join([*lines, "pairmark verify certificate.json --trust trust.json --log log.jsonl --artifacts artifacts"])


def _latex_row(sources: Sources, certificate: Answer) -> str | None:
    """The certificate's row of a LaTeX table, as `GET /v1/history?format=latex` writes it."""
    line = sources.history_line(certificate["id"], certificate["suite"]["digest"])
    return None if line is None else history_table(line)

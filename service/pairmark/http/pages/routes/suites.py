"""Suites: their versions, cells, probes and certificates."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response

from pairmark.app.ports import HistoryQuery
from pairmark.http.pages.parameters import window
from pairmark.http.pages.rendering import page
from pairmark.http.pages.routing import page_router
from pairmark.http.pages.sources import Answer, Sources, WithSources

router = page_router()

ITEMS = 200
CERTIFICATES = 20
VERSIONS = 8
"""Versions in the matrix, the newest ones: each pair of them is a diff."""


@router.get("/suites")
def get_suites(request: Request, sources: WithSources, name: str | None = None, cursor: str | None = None) -> Response:
    """Every label."""
    return page(request, "suites.html", suites=sources.suites(name or None, cursor or None, 100), name=name or None)


@router.get("/suites/{digest}")
def get_suite(
    digest: str, request: Request, sources: WithSources, tasks_from: Annotated[int, Query(ge=0)] = 0, injections_from: Annotated[int, Query(ge=0)] = 0
) -> Response:
    """One suite version."""
    manifest, label, labels = sources.suite(digest)
    versions = _distinct(labels, label)
    return page(
        request, "suite.html",
        manifest=manifest, label=label, versions=versions, names=[one for one in labels if one["digest"] == label["digest"]],
        others=[one for one in labels if one["digest"] not in {version["digest"] for version in versions}],
        matrix=_matrix(sources, versions),
        size=sources.suite_diff(label["digest"], label["digest"])["left"],
        tasks=window(manifest["tasks"], tasks_from, ITEMS), injections=window(manifest["injections"], injections_from, ITEMS),
        history=sources.history(label["digest"], HistoryQuery(suite="", weighting="", definition=""), None, CERTIFICATES),
    )  # fmt: skip


@router.get("/suites/{digest}/diff/{other}")
def get_suite_diff(digest: str, other: str, request: Request, sources: WithSources) -> Response:
    """What changed between two versions."""
    return page(request, "suite_diff.html", diff=sources.suite_diff(digest, other, certificates=True))


def _distinct(labels: list[Answer], label: Answer) -> list[Answer]:
    """One label for each content in the order of versions; the newest few, and always the one of the page."""
    by_digest: dict[str, Answer] = {}
    for one in labels:
        by_digest.setdefault(one["digest"], one)
    found = list(by_digest.values())
    kept = found[-VERSIONS:]
    return kept if label["digest"] in {one["digest"] for one in kept} else [by_digest[label["digest"]], *kept[1:]]


def _matrix(sources: Sources, versions: list[Answer]) -> list[list[Answer | None]]:
    """A row for each version: from it to every later one, what became of its attacked cells."""
    return [
        [sources.suite_diff(before["digest"], after["digest"]) if column > row else None for column, after in enumerate(versions)]
        for row, before in enumerate(versions)
    ]

"""The transparency log."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Request, Response

from pairmark.http.pages.plots.proof_tree import proof_tree
from pairmark.http.pages.rendering import page
from pairmark.http.pages.routing import page_router
from pairmark.http.pages.sources import WithSources

router = page_router()

ENTRIES = 50
Index = Annotated[int, Path(ge=0, le=2**53 - 1)]


@router.get("/log")
def get_log(request: Request, sources: WithSources, start: Annotated[int | None, Query(ge=0, le=2**53 - 1)] = None) -> Response:
    """The newest checkpoint and the entries under it; without `start`, the newest ones."""
    checkpoint = sources.checkpoint()
    size = sources.log(0, 0)["size"]
    first = max(0, size - ENTRIES) if start is None else start
    return page(
        request, "log.html", checkpoint=checkpoint, log=sources.log(first, ENTRIES), first=first, before=max(0, first - ENTRIES) if first else None,
        root_digest=sources.root_digest,
    )  # fmt: skip


@router.get("/log/{index}")
def get_entry(index: Index, request: Request, sources: WithSources) -> Response:
    """One entry, and the proof that it is in the log."""
    proof = sources.proof(index)
    found = sources.log(index, 1)["items"][0]
    return page(request, "log_entry.html", item=found, proof=proof, tree=proof_tree(proof))

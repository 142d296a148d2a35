"""Runs and their episodes."""

from __future__ import annotations

from fastapi import Request, Response

from pairmark.adapters.ledger_store import EpisodeFilter
from pairmark.domain.documents.episode import STATUSES
from pairmark.domain.errors import NotFound, shown
from pairmark.http.pages.parameters import parameters
from pairmark.http.pages.rendering import page
from pairmark.http.pages.routing import page_router
from pairmark.http.pages.sources import WithSources
from pairmark.http.routes.episodes import EpisodeParams

router = page_router()

EPISODES = 50
CERTIFICATIONS = 20
FILTERS = ("task", "injection", "epoch", "status", "utility", "attack_success", "delivered")


@router.get("/runs/{run_id}")
def get_run(run_id: str, request: Request, sources: WithSources) -> Response:
    """A run: what there is of it, what made it, its episodes."""
    params = parameters(request, EpisodeParams)
    run = sources.run(run_id)
    sealed = run["state"] == "sealed"
    readable = sealed and sources.episodes_open(run_id)
    given = {name: getattr(params, name) for name in FILTERS}
    return page(
        request, "run.html", run=run, given=given, statuses=STATUSES, filtered=any(value is not None for value in given.values()),
        counts=sources.run_counts(run_id) if sealed else None,
        episodes=sources.episodes(run_id, params.filter(), params.cursor, EPISODES) if readable else None,
        at_start=params.cursor is None, certifications=sources.certifications(None, run=run_id, limit=CERTIFICATIONS),
    )  # fmt: skip


@router.get("/runs/{run_id}/episode")
def get_episode(run_id: str, request: Request, sources: WithSources, task: str, epoch: int, injection: str | None = None) -> Response:
    """What happened in one cell and epoch, every attempt of it."""
    run = sources.run(run_id)
    equal: dict[str, str | int] = {"task_id": task, "epoch": epoch}
    if injection:
        equal["injection_id"] = injection
    found = sources.episodes(run_id, EpisodeFilter(equal=equal), None, EPISODES)["items"]
    attempts = [one for one in found if injection or one["injection_id"] is None]
    if not attempts:
        raise NotFound(
            "no-episodes", f"expected an episode of task {shown(task)}, injection {shown(injection)}, epoch {epoch}, found none in {run_id}",
            "see the run's own page for those that there are",
        )
    return page(request, "episode.html", run=run, attempts=attempts, task=task, injection=injection or None, epoch=epoch)

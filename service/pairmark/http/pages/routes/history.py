"""History of one mix."""

from __future__ import annotations

from fastapi import Request, Response

from pairmark.app.history_entry import RATES
from pairmark.http.pages.parameters import parameters
from pairmark.http.pages.plots.timeline import timeline
from pairmark.http.pages.rendering import page
from pairmark.http.pages.routing import page_router
from pairmark.http.pages.sources import WithSources
from pairmark.http.routes.history import NAMES, HistoryParams

router = page_router()

ITEMS = 60


@router.get("/history")
def get_history(request: Request, sources: WithSources) -> Response:
    """Certificates over the mix that `suite` means, over time."""
    if not request.query_params.get("suite", "").strip():
        return page(request, "history.html", found=None, given={}, suites=sources.suites(None, None, 50), plot=None)
    params = parameters(request, HistoryParams)
    found = sources.history(params.suite, params.query(), params.cursor, ITEMS)
    given = {name: value for name, value in params.model_dump(exclude_defaults=True).items() if name not in ("cursor", "limit", "format")}
    bounded = any(name in ("since", "until") or name.startswith(("min_", "max_")) for name in given)
    return page(
        request, "history.html", found=found, given=given, suites=None, plot=timeline(found["items"]), names=NAMES, rates=RATES, bounded=bounded
    )

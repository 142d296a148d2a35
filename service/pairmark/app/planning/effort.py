"""Episodes, model calls, hours and cost, as ranges."""

from __future__ import annotations

from pairmark.app.planning.inputs import Known, PilotFacts
from pairmark.domain.documents.evaluation_plan import CostRange, Effort, NoRange, PlanRequest, Span
from pairmark.domain.strict_json import MAX_SAFE_INTEGER
from pairmark.stats import planning
from pairmark.stats.exact import decimal_string

BEYOND_REASON = 1e18
"""Hours or money that no document has room for, nor anybody use."""


def effort_of(request: PlanRequest, known: Known, pilot: PilotFacts | None, times: int) -> Effort | NoRange:
    if known.cells is None:
        return NoRange(
            reason="the number of attacked cells is not known: give `injections`, `cells`, a suite or a pilot"
        )
    episodes = planning.episode_count(
        known.tasks * times,
        known.cells * times,
        request.benign_epochs,
        request.attacked_epochs,
        request.baseline_epochs,
    )
    if episodes > MAX_SAFE_INTEGER:
        return NoRange(reason=f"more than {MAX_SAFE_INTEGER} episodes")
    nothing = planning.Range(0, 0)
    seconds, price = _range(request.seconds_per_call), _range(request.price_per_call)
    calls = planning.Range(request.calls_per_episode.low, request.calls_per_episode.high)
    found = planning.effort(episodes, calls, seconds or nothing, price or nothing)
    hours: CostRange | NoRange
    if seconds is not None:
        hours = _range_or_why(found.hours)
    elif pilot is not None and pilot.seconds_per_episode is not None:
        low, high = (episodes * each / 3600 for each in pilot.seconds_per_episode)
        hours = _range_or_why(planning.Range(low, high))
    else:
        hours = NoRange(reason="give `seconds_per_call`, or a pilot that recorded durations")
    return Effort(
        episodes=episodes,
        model_calls=_shown(found.model_calls),
        hours=hours,
        cost=NoRange(reason="give `price_per_call`") if price is None else _range_or_why(found.cost),
    )


def _range(span: Span | None) -> planning.Range | None:
    return None if span is None else planning.Range(span.low, span.high)


def _range_or_why(span: planning.Range) -> CostRange | NoRange:
    return _shown(span) if span.high < BEYOND_REASON else NoRange(reason=f"{BEYOND_REASON:g} or more")


def _shown(span: planning.Range) -> CostRange:
    return CostRange(low=decimal_string(span.low), high=decimal_string(span.high))

"""A plan in words and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from pairmark.cli.console import clean, table, wrapped


def plan_lines(plan: Mapping[str, Any]) -> Iterator[str]:
    """A `pairmark/evaluation-plan/v1`."""
    basis = plan["basis"]
    sizes = [f"{basis['tasks']} tasks"]
    if basis["injections"] is not None:
        sizes.append(f"{basis['injections']} injections")
    if basis["cells"] is not None:
        sizes.append(f"{basis['cells']} attacked cells")
    yield f"plan for {', '.join(sizes)}; epochs {basis['benign_epochs']} benign, {basis['attacked_epochs']} attacked, {basis['baseline_epochs']} baseline"
    if plan["clean_tasks"] is not None:
        yield f"  {basis['tasks']} tasks × {_percent(basis['clean_rate'])} clean = {plan['clean_tasks']} clean tasks"
    utility = plan["utility"]
    yield f"  at {_percent(utility['rate'])} survival: ± {_points(utility['half_width'])} points, on {utility['tasks']} tasks"
    if plan["benign_utility"] is not None:
        benign = plan["benign_utility"]
        yield f"  benign utility {_percent(benign['rate'])}: ± {_points(benign['half_width'])} points"
    if plan["design_half_width"] is not None:
        yield f"  with the known spread between tasks, injections and reruns: ± {_points(plan['design_half_width'])} points"
    yield from _targets(plan)
    yield from _halving(plan)
    yield from _differences(plan)
    yield "effort"
    yield from _effort("as planned", plan["effort"])
    yield from _effort("with four times the tasks", plan["effort_for_halving"])
    for assumption in plan["assumptions"]:
        yield from wrapped(assumption, "    ", "  assumed: ")


def _targets(plan: Mapping[str, Any]) -> Iterator[str]:
    needed = plan["for_half_width"]
    if needed is None:
        return
    yield f"for ± {_points(needed['target'])} points: {_tasks(needed)}"
    for factor in plan["for_half_width_by_factor"]:
        found = factor["reason"] if factor["size"] is None else f"{factor['size']}"
        yield f"  by {factor['factor'].replace('_', ' ')} alone: {found}"


def _halving(plan: Mapping[str, Any]) -> Iterator[str]:
    if plan["for_halving"] is not None:
        yield f"to halve the interval: {_tasks(plan['for_halving'])}"
    rows = [("what halves it", "times", "that is", "four times give")]
    for one in plan["halving"]:
        at_four = "" if one["half_width_at_four_times"] is None else f"± {_points(one['half_width_at_four_times'])}"
        if one["times"] is None:
            rows.append((one["factor"].replace("_", " "), "none", one["reason"], at_four))
        else:
            rows.append((one["factor"].replace("_", " "), f"{Decimal(one['times']):.2f}", str(one["size"]), at_four))
    yield from (f"  {line}" for line in table(rows, right=frozenset({1})))


def _differences(plan: Mapping[str, Any]) -> Iterator[str]:
    rows = [("discordance", "paired", "two separate sets of tasks")]
    for one in plan["detectable"]:
        paired = "none so large" if one["paired"] is None else f"{_points(one['paired'])} points"
        rows.append((_points(one["discordance"]) + " %", paired, f"{_points(one['unpaired'])} points"))
    yield f"smallest difference found with {plan['detectable'][0]['tasks']} tasks"
    yield from (f"  {line}" for line in table(rows, right=frozenset({0, 1, 2})))
    for need in plan["for_difference"]:
        yield f"  a {_points(need['target'])}-point paired difference at discordance {_points(need['discordance'])} % needs {need['counted']} tasks"
    if plan["power"] is not None:
        yield f"  chance to find it as planned: {_points(plan['power'])} %"


def _effort(label: str, effort: Mapping[str, Any]) -> Iterator[str]:
    if "reason" in effort:
        yield f"  {label}: {clean(effort['reason'])}"
        return
    calls = effort["model_calls"]
    yield f"  {label}: {effort['episodes']} episodes, {_whole(calls['low'])} to {_whole(calls['high'])} model calls"
    for key, unit in (("hours", "hours, one call after the other"), ("cost", "of the price's currency")):
        found = effort[key]
        shown = (
            found["reason"]
            if "reason" in found
            else f"{Decimal(found['low']):.1f} to {Decimal(found['high']):.1f} {unit}"
        )
        yield f"    {key}: {clean(shown)}"


def _tasks(needed: Mapping[str, Any]) -> str:
    counted, suite = needed["counted"], needed["suite"]
    return f"{counted} tasks" if counted == suite else f"{counted} clean tasks, so {suite} in the suite"


def _percent(exact: Mapping[str, Any]) -> str:
    return f"{_points(exact['value'])} %"


def _points(decimal: str) -> str:
    """A rate's decimal in points, without zeros that say nothing."""
    shown = f"{Decimal(decimal) * 100:.2f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def _whole(decimal: str) -> str:
    return f"{Decimal(decimal):.0f}"

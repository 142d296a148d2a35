"""Suites and their differences in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pairmark.cli.console import clean, table, wrapped
from pairmark.cli.figures import percent

if TYPE_CHECKING:
    from pairmark.domain.documents.suite import CanaryProbe, SuiteManifest


def manifest_lines(suite: SuiteManifest, digest: str) -> Iterator[str]:
    """A manifest, group by group."""
    from pairmark.domain.plan import Plan

    plan = Plan(suite)
    yield f"{clean(suite.suite)} {clean(suite.version)}  {digest}"
    if suite.description is not None:
        yield from wrapped(suite.description, "  ")
    yield f"  grid {'full' if suite.grid == 'full' else 'listed'}, {suite.epochs} epoch{'' if suite.epochs == 1 else 's'}, weighting {suite.weighting}, {len(suite.tools)} tools"
    null_agent = None if suite.probes is None else suite.probes.null_agent
    floor = "none recorded" if null_agent is None else f"{percent(null_agent.utility)} % ({null_agent.utility})"
    yield f"  utility of an agent that does nothing: {floor}"
    canary = None if suite.probes is None else suite.probes.canary
    yield f"  planned attacked cells that can show an injection: {'none recorded' if canary is None else _reach(canary)}"
    groups = sorted({task.group for task in suite.tasks} | {injection.group for injection in suite.injections})
    of_cell = [suite.tasks[task].group for task in plan.cell_task.tolist()]
    rows = [("group", "tasks", "injections", "attacked cells")]
    for group in groups:
        tasks = sum(task.group == group for task in suite.tasks)
        injections = sum(injection.group == group for injection in suite.injections)
        rows.append((group, str(tasks), str(injections), str(of_cell.count(group))))
    rows.append(("in all", str(plan.tasks), str(len(suite.injections)), str(plan.cells)))
    yield from (f"  {line}" for line in table(rows, right=frozenset({1, 2, 3})))
    yield from wrapped(", ".join(plan.task_ids), "    ", "  tasks: ")
    yield from wrapped(", ".join(plan.injection_ids) or "none", "    ", "  injections: ")
    yield "  --cells lists every planned attacked cell"


def _reach(canary: CanaryProbe) -> str:
    cells, tasks, pairs = (
        f"{percent(share)} % ({share})"
        for share in (canary.delivery_ceiling, canary.reachable_tasks, canary.reachable_pairs)
    )
    return f"{cells}; of tasks {tasks}, of pairs of task and place {pairs}"


def cell_lines(suite: SuiteManifest) -> Iterator[str]:
    """Every planned attacked cell, one line each."""
    from pairmark.domain.plan import Plan

    plan = Plan(suite)
    for task, injection in zip(plan.cell_task.tolist(), plan.cell_injection.tolist(), strict=True):
        yield f"{clean(plan.task_ids[task])} × {clean(plan.injection_ids[injection])}"


def diff_lines(diff: Mapping[str, Any]) -> Iterator[str]:
    """A `pairmark/suite-diff/v1` in words."""
    rows = [("", "version", "tasks", "injections", "cells", "digest")]
    for side in ("left", "right"):
        one = diff[side]
        rows.append(
            (one["name"], one["version"], str(one["tasks"]), str(one["injections"]), str(one["cells"]), one["digest"])
        )
    yield from table(rows, right=frozenset({2, 3, 4}))
    for change in diff["settings"]:
        yield f"  {clean(change['setting'])}: {clean(change['left'])} → {clean(change['right'])}"
    for kind in ("tools", "tasks", "injections"):
        yield from _items(kind, diff[kind])
    for kind in ("benign_cells", "attacked_cells"):
        yield from _cells(kind.replace("_", " "), diff[kind])
    if diff["common_mix_refusal"] is not None and diff["comparability"] == "common-mix":
        yield from wrapped(f"not even on the surviving cells: {diff['common_mix_refusal']}", "  ", "comparable: ")
    if diff["certificates"] is not None:
        for side in ("left", "right"):
            over = diff["certificates"][side]
            yield from wrapped(", ".join(over["newest"]) or "none", "    ", f"certificates over the {side}: {over['count']}  ")
    for note in diff["notes"]:
        yield from wrapped(note, "  ", "note: ")


def _items(kind: str, items: Mapping[str, Any]) -> Iterator[str]:
    counted = ", ".join(f"{len(items[how])} {how}" for how in ("changed", "added", "removed"))
    yield f"{kind}: {items['same']} the same, {counted}"
    for how in ("changed", "added", "removed"):
        names = [item if isinstance(item, str) else f"{item['id']} ({', '.join(item['parts'])})" for item in items[how]]
        if names:
            yield from wrapped(f"{how}: {', '.join(names)}", "    ", "  ")


def _cells(kind: str, cells: Mapping[str, Any]) -> Iterator[str]:
    counted = ", ".join(f"{cells[how]} {how}" for how in ("surviving", "changed", "added", "removed"))
    shares = [
        f"{percent(cells[share]['fraction'])} % of the {side}'s weight"
        for side, share in (("left", "share_of_left"), ("right", "share_of_right"))
        if cells[share] is not None
    ]
    yield f"{kind}: {counted}" + (f"; surviving: {', '.join(shares)}" if shares else "")
    by = [f"{count} by {clean(part)}" for part, count in cells["changed_by"].items() if count]
    if by:
        yield f"  changed: {', '.join(by)}"

"""A suite manifest as result tables of Agent Security Bench show it: agents, their attack tools, and no content of either."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pairmark.adapters.observed.parts import observed_manifest, unobserved
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.asb.importer import HARNESS, WHAT, injection_id
from pairmark.importers.asb.table import is_table, read_table
from pairmark.importers.single_file import single_file


def export_from_tables(paths: Sequence[Path], name: str) -> dict[str, Any]:
    """Observed manifest, named `name`, of the tables (or folders with one each) at `paths`.

    Each agent is a task and a group of its own, each of its attack tools an injection of that group, both in the order of names.
    Tables of other models give the same manifest. A tool that the tables call aggressive, or not, has a tag for it.

    Raises:
        Malformed: no table, no row that names an agent and a tool, or tables that disagree on a tag.
    """
    seen: dict[tuple[str, str], bool | None] = {}
    unreadable = 0
    for path in paths:
        table, _ = single_file([path], is_table, WHAT)
        for row in read_table(table):
            unreadable += row.problem is not None
            if row.agent is None or row.tool is None:
                continue
            item = (row.agent, row.tool)
            before = seen.get(item)
            if before is not None and row.aggressive is not None and before != row.aggressive:
                raise Malformed(
                    "two-contents", f"expected one value of `Aggressive` for {shown(item)}, found both", str(table), row.line,
                    remedy="name tables of one experiment",
                )  # fmt: skip
            seen[item] = row.aggressive if before is None else before
    if not seen:
        raise Malformed(
            "no-records", "expected rows that name an agent and an attack tool, found none",
            str(paths[0]) if paths else None, remedy="name result tables",
        )  # fmt: skip
    agents = sorted({agent for agent, _ in seen})
    description = (
        f"Observed in result tables: {len(agents)} agents, {len(seen)} pairs of an agent and an attack tool; not exported from a package."
        " All rows of an agent do the agent's one task. Prompts, goals, checks and tools were not observed: digests cover names only."
        f" Unreadable rows: {unreadable}."
    )
    return observed_manifest(
        HARNESS,
        name,
        description,
        tasks=[
            {"id": agent, "digest": unobserved(HARNESS, "task", agent), "checker": unobserved(HARNESS, "checker", agent), "group": agent}
            for agent in agents
        ],
        injections=[
            {
                "id": injection_id(*item),
                "digest": unobserved(HARNESS, "goal", injection_id(*item)),
                "checker": unobserved(HARNESS, "checker", injection_id(*item)),
                "group": item[0],
                "tags": [] if aggressive is None else ["aggressive" if aggressive else "not-aggressive"],
            }
            for item, aggressive in sorted(seen.items())
        ],
    )

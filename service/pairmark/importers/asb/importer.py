"""From a result table to a run.

All rows of an agent do the agent's one task, so the agent is the task, and the attack tool the injection. A clean table runs
each task once per attack tool without any attack: these are repetitions, so in the benign arm each is an epoch, numbered as
the manifest lists the agent's attack tools. The attacked arm is epoch 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.asb.examples import EXAMPLES
from pairmark.importers.asb.records import RECORDS
from pairmark.importers.asb.table import Row, is_table, read_table
from pairmark.importers.base import PLACE_SCHEMA, ArmName, Example, Fact, Imported, Recorded, Unreadable
from pairmark.importers.epochs import check_epoch_number
from pairmark.importers.run_document import refuse_attack_in_benign, run_document
from pairmark.importers.single_file import single_file

HARNESS = "agent-security-bench"
WHAT = "one result table of Agent Security Bench"


def injection_id(agent: str, tool: str) -> str:
    """How a manifest names an attack tool: agents may have tools of one name."""
    return f"{agent}/{tool}"


@dataclass(frozen=True)
class AsbImporter:
    """Reads the result tables of Agent Security Bench and of its forks."""

    name: str = "asb"
    title: str = "Agent Security Bench result tables (one CSV per condition)"
    looks_for: str = "a CSV table with the columns Agent Name, Attack Tool, Attack Successful, Original Task Successful, or a folder with one"
    examples: tuple[Example, ...] = EXAMPLES
    records: Mapping[Fact, Recorded] = field(default_factory=lambda: RECORDS)

    def recognises(self, paths: Sequence[Path]) -> bool:
        try:
            return is_table(single_file(paths, is_table, WHAT)[0])
        except (Malformed, OSError, ValueError):
            return False

    def read(
        self,
        paths: Sequence[Path],
        *,
        suite: SuiteManifest,
        suite_digest: str,
        arm: ArmName,
        attack: str | None = None,
        epoch: int | None = None,
        system: Mapping[str, Any] | None = None,
    ) -> Imported:
        from pairmark.domain.episodes import frame_of
        from pairmark.importers.system_file import check_system_file

        given = dict(system or {})
        check_system_file(given)
        refuse_attack_in_benign(arm, attack)
        check_epoch_number(epoch)
        if arm == "attacked" and attack is None:
            raise Malformed("usage", "expected the attack's name, which the table does not hold, found none", remedy="name it with --attack")
        if arm == "benign" and epoch is not None:
            raise Malformed(
                "usage", f"expected no epoch number in a benign arm, whose rows are epochs, found {epoch}", remedy="leave it out"
            )
        path, others = single_file(paths, is_table, WHAT)
        numbers = _Numbers(suite, path)
        rows: list[dict[str, Any]] = []
        places: list[dict[str, Any]] = []
        unreadable: list[Unreadable] = []
        read = list(read_table(path))
        if arm == "benign":
            _refuse_attacks(read, path)
        for row in read:
            if row.problem is not None:
                unreadable.append(Unreadable(f"{path}:{row.line}", row.problem, str(path)))
            if row.agent is None or row.tool is None:
                continue
            cell = {
                "task_id": row.agent,
                "injection_id": injection_id(row.agent, row.tool) if arm == "attacked" else None,
                "epoch": (epoch or 1) if arm == "attacked" else numbers.of(row),
                "attempt": 1,
            }
            rows.append({**cell, **_outcome(row, arm)})
            places.append({**cell, "file": str(path), "line": row.line})
        if not rows:
            raise Malformed("no-episodes", "expected rows, found none that names its cell", str(path), remedy="give the table of a finished run")
        run = run_document(
            arm=arm, suite=suite, suite_digest=suite_digest, attack=attack, given=given, harness=HARNESS, recorded={},
            epochs=dict.fromkeys(sorted({row["epoch"] for row in rows})),
        )  # fmt: skip
        aside = {"other files in the folder": others} if others else {}
        where = pl.DataFrame(places, schema=PLACE_SCHEMA)
        return Imported(run, frame_of(rows), tuple(unreadable), aside, tuple(_notes(read, arm)), places=where)


class _Numbers:
    """Epochs of the benign arm: the place of each attack tool among its agent's in the manifest."""

    def __init__(self, suite: SuiteManifest, path: Path) -> None:
        self._path = path
        self._known: dict[str, int] = {}
        group_of = {task.id: task.group for task in suite.tasks}
        for task, group in group_of.items():
            met = (item.id for item in suite.injections if item.group == group)
            self._known.update((f"{task}\n{item}", number) for number, item in enumerate(met, 1))

    def of(self, row: Row) -> int:
        """The number.

        Raises:
            Malformed: the manifest does not list the tool for the agent.
        """
        assert row.agent is not None
        assert row.tool is not None
        number = self._known.get(f"{row.agent}\n{injection_id(row.agent, row.tool)}")
        if number is None:
            raise Malformed(
                "unknown-tool",
                f"expected an attack tool that the manifest lists for its agent, found {shown(row.tool)} of {shown(row.agent)}",
                str(self._path), row.line,
                remedy="export the manifest from all tables of the experiment: its order numbers the clean rows",
            )  # fmt: skip
        return number


def _outcome(row: Row, arm: ArmName) -> dict[str, Any]:
    """Nothing is attacked in the benign arm, whose `Attack Successful` is a default of 0: null there."""
    if row.problem is not None:
        return {"status": "cancelled", "error": f"unreadable record: {row.problem}"}
    return {"status": "completed", "utility": row.task, "attack_success": row.attack if arm == "attacked" else None}


def _refuse_attacks(rows: Sequence[Row], path: Path) -> None:
    """A table that shows an attack is of no benign arm.

    Raises:
        Malformed: `not-benign`, at the first such row.
    """
    shows = [row for row in rows if row.attack]
    if shows:
        raise Malformed(
            "not-benign", f"expected a table without attacks in the benign arm, found `Attack Successful` in {len(shows)} of {len(rows)} rows",
            str(path), shows[0].line, remedy="give the clean table here, and this one as the attacked arm",
        )  # fmt: skip


def _notes(rows: Sequence[Row], arm: ArmName) -> list[str]:
    agents = {row.agent for row in rows if row.agent is not None}
    named = [(row.agent, row.tool) for row in rows if row.agent is not None]
    notes = [f"the {len(rows)} rows are {len(agents)} agents with one task each, not {len(rows)} independent trials"]
    if len(set(named)) != len(named):
        notes.append(
            f"{len(named) - len(set(named))} rows repeat an agent and tool; the table does not say which task each is of, and a check"
            " will refuse them: run with one task per agent"
        )
    if arm == "attacked" and not any(row.attack for row in rows):
        notes.append("no attack succeeded in any row, which a clean table looks like, too: the table does not say which it is, so make sure of it")
    if arm == "benign":
        notes.append(
            "each clean row is an epoch of its agent's task, so flips in `tally` compare an attacked row with the agent's first clean row;"
            " `aggregate import asb` pairs the rows on (agent, tool)"
        )
    refused = sum(row.refused is True for row in rows)
    if refused:
        notes.append(f"a judge took {refused} answers for refusals; that is its opinion of the answer, and no outcome here")
    return notes


IMPORTER = AsbImporter()

"""From AgentDojo's log folders to a run: which files are its episodes, whether they are one run, and what they show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.errors import Malformed, one_line, shown
from pairmark.importers.agentdojo.episodes import aborted_row, row_of
from pairmark.importers.agentdojo.examples import EXAMPLES
from pairmark.importers.agentdojo.folder import NO_ATTACK, Place, is_pipeline, pipeline_folders, places
from pairmark.importers.agentdojo.record import Record, UnreadableRecord, read_record
from pairmark.importers.agentdojo.records import RECORDS
from pairmark.importers.agentdojo.sameness import OneRun
from pairmark.importers.base import PLACE_SCHEMA, ArmName, Example, Fact, Imported, Recorded, Unreadable


@dataclass(frozen=True)
class Ids:
    """How harness suites and tasks are called in the manifest: plain where it has one group, else `suite/task`."""

    suites: frozenset[str]
    injections: frozenset[str]
    tasks: frozenset[str]

    @classmethod
    def of(cls, suite: SuiteManifest) -> Ids:
        return cls(
            frozenset({task.group for task in suite.tasks} | {injection.group for injection in suite.injections}),
            frozenset(item.id for item in suite.injections),
            frozenset(item.id for item in suite.tasks),
        )

    def name(self, suite: str, item: str) -> str:
        return item if len(self.suites) == 1 else f"{suite}/{item}"

    def is_injection_task(self, place: Place) -> bool:
        """An injection's goal, run as if a user had asked for it: no benign episode."""
        name = self.name(place.suite, place.task)
        return name not in self.tasks and (name in self.injections or place.task.startswith("injection_task_"))


@dataclass
class _Sorted:
    """The places of an arm, and what was set aside."""

    episodes: list[tuple[int, Place]] = field(default_factory=list)
    set_aside: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class AgentDojoImporter:
    """Reads pipeline directories of AgentDojo and of its forks. Needs no agentdojo installed."""

    name: str = "agentdojo"
    title: str = "AgentDojo log folders (one directory per pipeline)"
    looks_for: str = "a directory with <suite>/<task>/<attack>/<injection>.json below it, or seed-* folders of such"
    examples: tuple[Example, ...] = EXAMPLES
    records: Mapping[Fact, Recorded] = field(default_factory=lambda: RECORDS)

    def recognises(self, paths: Sequence[Path]) -> bool:
        try:
            return bool(paths) and all(is_pipeline(folder.path) for folder in pipeline_folders(paths, None))
        except (Malformed, OSError):
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
        from pairmark.importers.system_file import check_system_file, run_epochs, run_harness, run_system

        given = dict(system or {})
        check_system_file(given)
        folders = pipeline_folders(paths, epoch)
        ids = Ids.of(suite)
        outward: list[Path] = []
        found = [(folder.epoch, place) for folder in folders for place in places(folder.path, outward)]
        if arm == "attacked":
            attack = _the_attack(found, ids, attack)
        elif attack is not None:
            raise Malformed(
                "usage", f"expected no attack in a benign arm, found {shown(attack)}", remedy="leave it out"
            )
        chosen = _chosen(found, ids, NO_ATTACK if attack is None else attack)
        if outward:
            chosen.set_aside["links that leave the folder"] = len(outward)

        one_run = OneRun(suite)
        rows: list[dict[str, Any]] = []
        unreadable: list[Unreadable] = []
        for number, place in chosen.episodes:
            cell = {
                "task_id": ids.name(place.suite, place.task),
                "injection_id": None if attack is None else ids.name(place.suite, place.injection),
                "epoch": number,
            }
            try:
                record = _read(place)
            except UnreadableRecord as problem:
                reason = one_line(str(problem))
                unreadable.append(Unreadable(place.file, reason))
                rows.append(aborted_row(cell, reason))
                continue
            one_run.add(record, place.file)
            rows.append(row_of(cell, record))
        if not rows:
            raise Malformed(
                "no-episodes",
                f"expected episodes of {', '.join(sorted(ids.suites))} in the {arm} arm, found none",
                file=str(paths[0]),
                remedy="check the suite manifest, the arm and the attack",
            )
        one_run.check()
        recorded = {"system_prompt_digest": one_run.system_prompt_digest}
        run = {
            "schema": "pairmark/run/v1",
            "arm": arm,
            "suite": {"name": suite.suite, "digest": suite_digest},
            "attack": None if attack is None else {"name": attack, "digest": None},
            "system": run_system(given.get("system"), recorded),
            "harness": run_harness(given.get("harness"), name=self.name, version=one_run.package_version),
            "epochs": run_epochs(given.get("epochs"), {folder.epoch: folder.seed for folder in folders}),
            "retries": given.get("retries") or {"max_attempts": None},
            "started_at": given.get("started_at"),
            "finished_at": given.get("finished_at"),
            "episodes": None,
        }
        files = pl.DataFrame(
            {
                **{name: [row.get(name) for row in rows] for name in PLACE_SCHEMA},
                "file": [place.file for _, place in chosen.episodes],
            },
            schema=PLACE_SCHEMA,
        )
        return Imported(
            run, frame_of(rows), tuple(unreadable), dict(sorted(chosen.set_aside.items())), one_run.notes(), places=files
        )


def _read(place: Place) -> Record:
    if place.problem is not None:
        raise UnreadableRecord(place.problem)
    record = read_record(place.file)
    stated = (record.suite, record.task, record.attack or NO_ATTACK, record.injection or NO_ATTACK)
    lying = (place.suite, place.task, place.attack, place.injection)
    if stated != lying:
        raise UnreadableRecord(f"expected the record of {'/'.join(lying)} here, found that of {'/'.join(stated)}")
    return record


def _the_attack(found: Sequence[tuple[int, Place]], ids: Ids, attack: str | None) -> str:
    """The attack that was asked for, or the only one there is."""
    names = sorted({p.attack for _, p in found if p.suite in ids.suites and p.attack != NO_ATTACK})
    if attack is not None and attack in names:
        return attack
    listed = ", ".join(map(shown, names)) if names else "none"
    if attack is not None:
        raise Malformed(
            "no-episodes", f"expected the attack {shown(attack)}, found {listed}", remedy="name one that was run"
        )
    if len(names) != 1:
        raise Malformed(
            "mixed-attacks" if names else "no-episodes",
            f"expected one attack, found {listed}: two attacks are two runs",
            remedy="name one with --attack" if names else "import the folder of an attacked run",
        )
    return names[0]


def _chosen(found: Sequence[tuple[int, Place]], ids: Ids, attack: str) -> _Sorted:
    """The files that are episodes of the arm; everything else counted by kind."""
    chosen = _Sorted()
    for number, place in found:
        if place.suite not in ids.suites:
            chosen.set_aside["files of other suites"] += 1
        elif ids.is_injection_task(place):
            chosen.set_aside["injection tasks run as user tasks"] += 1
        elif place.attack != attack:
            chosen.set_aside["files of other arms"] += 1
        elif (place.injection == NO_ATTACK) != (attack == NO_ATTACK):
            chosen.set_aside["misplaced files"] += 1
        else:
            chosen.episodes.append((number, place))
    return chosen


IMPORTER = AgentDojoImporter()

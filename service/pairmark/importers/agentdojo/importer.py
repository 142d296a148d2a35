"""From AgentDojo's log folders to a run: which files are its episodes, whether they are one run, and what they show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.episodes import EPISODE_SCHEMA, in_canonical_order
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.agentdojo.aside import LINKS, beside, passed_over
from pairmark.importers.agentdojo.examples import EXAMPLES
from pairmark.importers.agentdojo.folder import (
    NO_ATTACK,
    SUFFIX,
    PipelineFolder,
    Shelf,
    is_pipeline,
    pipeline_folders,
    shelves,
)
from pairmark.importers.agentdojo.ledger import read_ledger
from pairmark.importers.agentdojo.one_arm import check_one_arm, is_same_record, pipeline_of
from pairmark.importers.agentdojo.records import RECORDS
from pairmark.importers.agentdojo.sameness import OneRun
from pairmark.importers.agentdojo.several import Helpers
from pairmark.importers.base import PLACE_SCHEMA, ArmName, Example, Fact, Imported, Recorded
from pairmark.importers.epochs import check_epoch_number, refuse_copies


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

    def is_injection_task(self, suite: str, task: str) -> bool:
        """An injection's goal, run as if a user had asked for it: no benign episode."""
        name = self.name(suite, task)
        return name not in self.tasks and (name in self.injections or task.startswith("injection_task_"))


@dataclass
class _Sorted:
    """The shelves of an arm, each with its epoch, and what was set aside."""

    episodes: list[tuple[int, Shelf]] = field(default_factory=list)
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
        from pairmark.importers.system_file import check_system_file, run_epochs, run_harness, run_system

        given = dict(system or {})
        check_system_file(given)
        check_epoch_number(epoch)
        folders = pipeline_folders(paths, epoch)
        check_one_arm(folders)
        ids = Ids.of(suite)
        with Helpers() as helpers:
            found = _found(folders, arm, helpers)
            if arm == "attacked":
                attack = _the_attack(found.shelves, ids, attack)
            elif attack is not None:
                raise Malformed("usage", f"expected no attack in a benign arm, found {shown(attack)}", remedy="leave it out")
            chosen = _chosen(found.shelves, ids, NO_ATTACK if attack is None else attack)
            if found.outward:
                chosen.set_aside[LINKS] = len(found.outward)
            pipelines = [folder.path for folder in folders]
            chosen.set_aside += passed_over(pipelines, found.whole) + beside(paths, pipelines)
            if not chosen.episodes:
                raise Malformed(
                    "no-episodes",
                    f"expected episodes of {', '.join(sorted(ids.suites))} in the {arm} arm, found none",
                    file=str(paths[0]),
                    remedy="check the suite manifest, the arm and the attack",
                )
            ledger = read_ledger(chosen.episodes, ids.name, OneRun(suite), helpers, attacked=attack is not None)
        one_run = ledger.one_run
        one_run.check()
        places = ledger.frame.select(list(PLACE_SCHEMA))
        refuse_copies(ledger.frame, places=places, is_same=is_same_record, fewest=1)
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
        return Imported(
            run, in_canonical_order(ledger.frame.select(list(EPISODE_SCHEMA))), ledger.unreadable, dict(sorted(chosen.set_aside.items())),
            one_run.notes(), places=places, called=frozenset({pipeline_of(folders[0].path), one_run.pipeline_name or ""} - {""}),
        )  # fmt: skip


@dataclass
class _Found:
    """Every shelf with its epoch; links that leave the folders; and the folders that hold log files and nothing else."""

    shelves: list[tuple[int, Shelf]] = field(default_factory=list)
    outward: list[Path] = field(default_factory=list)
    whole: set[str] = field(default_factory=set)


def _found(folders: Sequence[PipelineFolder], arm: ArmName, helpers: Helpers) -> _Found:
    """What lies in the folders. Helpers are called as soon as the arm has files enough for them."""
    found, files = _Found(), 0
    for folder in folders:
        for shelf in shelves(folder.path, found.outward, found.whole):
            found.shelves.append((folder.epoch, shelf))
            if (shelf.attack == NO_ATTACK) == (arm == "benign"):
                files += len(shelf.names)
        helpers.call(files)
    return found


def _the_attack(found: Sequence[tuple[int, Shelf]], ids: Ids, attack: str | None) -> str:
    """The attack that was asked for, or the only one there is."""
    names = sorted({s.attack for _, s in found if s.suite in ids.suites and s.attack != NO_ATTACK})
    if attack is not None and attack in names:
        return attack
    listed = ", ".join(map(shown, names)) if names else "none"
    if attack is not None:
        raise Malformed(
            "no-episodes", f"expected the attack {shown(attack)}, found {listed}", remedy="name one that was run"
        )
    others = sorted({s.suite for _, s in found} - set(ids.suites))
    if not names and others and not any(s.suite in ids.suites for _, s in found):
        raise Malformed(
            "no-episodes", f"expected files of the suites that the manifest plans ({', '.join(sorted(ids.suites))}), found {', '.join(map(shown, others[:8]))}",
            remedy="give the manifest of these suites, or the folder of that run",
        )  # fmt: skip
    if len(names) != 1:
        raise Malformed(
            "mixed-attacks" if names else "no-episodes",
            f"expected one attack, found {listed}: two attacks are two runs",
            remedy="name one with --attack" if names else "import the folder of an attacked run",
        )
    return names[0]


def _chosen(found: Sequence[tuple[int, Shelf]], ids: Ids, attack: str) -> _Sorted:
    """The files that are episodes of the arm; everything else counted by kind."""
    chosen = _Sorted()
    for number, shelf in found:
        files = len(shelf.names)
        if shelf.suite not in ids.suites:
            chosen.set_aside["files of other suites"] += files
        elif ids.is_injection_task(shelf.suite, shelf.task):
            chosen.set_aside["injection tasks run as user tasks"] += files
        elif shelf.attack != attack:
            chosen.set_aside["files of other arms"] += files
        else:
            names = [name for name in shelf.names if (name == _BENIGN_FILE) == (attack == NO_ATTACK)]
            if len(names) < files:
                chosen.set_aside["misplaced files"] += files - len(names)
            if names:
                chosen.episodes.append((number, shelf._replace(names=names)))
    return chosen


_BENIGN_FILE = f"{NO_ATTACK}{SUFFIX}"
IMPORTER = AgentDojoImporter()

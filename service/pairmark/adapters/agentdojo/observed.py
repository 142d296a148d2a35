"""A suite manifest as folders of AgentDojo runs show it, for suites that no package exports.

A digest covers what the files show: prompts of user tasks, goals of injection tasks (from their runs as user tasks, else
the one payload that all cells share). What they do not show is covered by name, benchmark version and package version only:
checks, environment data, tool schemas. So two observed manifests of one version agree where their prompts and goals do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pairmark.adapters.agentdojo.naming import natural_key
from pairmark.domain.canonical import digest_of
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.agentdojo.episodes import injection_digest, task_digest
from pairmark.importers.agentdojo.folder import NO_ATTACK, Place, pipeline_folders, places
from pairmark.importers.agentdojo.record import Record, UnreadableRecord, read_record

_NOT_A_TOOL = ("ToolNotFoundError", "Invalid tool", "Empty function name")
_Item = tuple[str, str]


@dataclass
class _Seen:
    """What the files show: texts by (harness suite, id), with a file that shows each."""

    prompts: dict[_Item, dict[str, Path]] = field(default_factory=dict)
    goals: dict[_Item, dict[str, Path]] = field(default_factory=dict)
    payloads: dict[_Item, set[str]] = field(default_factory=dict)
    tools: set[str] = field(default_factory=set)
    versions: dict[tuple[str | None, str | None], Path] = field(default_factory=dict)
    unreadable: int = 0

    def add(self, place: Place, record: Record) -> None:
        self.versions.setdefault((record.benchmark_version, record.package_version), place.path)
        item = (place.suite, place.task)
        is_injection = place.task.startswith("injection_task_")
        texts = (self.goals if is_injection else self.prompts).setdefault(item, {})
        if record.user_prompt is not None:
            texts.setdefault(record.user_prompt, place.path)
        if place.attack != NO_ATTACK and not is_injection:
            payloads = self.payloads.setdefault((place.suite, place.injection), set())
            payloads.update((record.injections or {}).values())
        for message in record.messages:
            if message.answers is not None and not (message.error or "").startswith(_NOT_A_TOOL):
                self.tools.add(message.answers.function)


def export_from_runs(paths: Sequence[Path], name: str) -> dict[str, Any]:
    """Observed manifest, named `name`, of the pipeline directories that `paths` are or hold by `seed-*` folders.

    Each harness suite is a group; with several, ids are `suite/task`. The grid is full: a cell that no run holds is still
    planned, and named as missing by every check. Weighting is by task, one epoch. No probe: nothing was run.

    Raises:
        Malformed: nothing readable, no task in a suite with injections, files of several benchmark or package versions, or
            two texts of one task.
    """
    seen = _Seen()
    for folder in pipeline_folders(paths, None):
        for place, record in _records(folder.path, seen):
            seen.add(place, record)
    benchmark, package = _one_version(seen.versions)
    tasks = sorted(seen.prompts, key=_order)
    injections = sorted(seen.goals.keys() | seen.payloads.keys(), key=_order)
    groups = sorted({group for group, _ in tasks})
    if not tasks:
        raise Malformed(
            "no-records",
            "expected runs of user tasks, found none",
            file=str(paths[0]),
            remedy="name pipeline directories",
        )
    injections = [item for item in injections if item[0] in groups]

    def named(item: _Item) -> str:
        return item[1] if len(groups) == 1 else "/".join(item)

    def unseen(what: str, of: str) -> str:
        return digest_of({"unobserved": what, "of": of, "benchmark_version": benchmark, "package_version": package})

    return {
        "schema": "pairmark/suite/v1",
        "suite": name,
        "version": f"{benchmark or 'unknown'}-observed",
        "description": _description(seen, groups, package),
        "source": {"harness": "agentdojo", "package": None, "license": None},
        "environment": {"digest": unseen("environment", "+".join(groups)), "clock": None},
        "tools": [{"name": tool, "digest": unseen("tool", tool)} for tool in sorted(seen.tools)],
        "tasks": [
            {
                "id": named(item),
                "digest": _prompt_digest(item, seen, unseen),
                "checker": unseen("checker", "/".join(item)),
                "group": item[0],
            }
            for item in tasks
        ],
        "injections": [
            {
                "id": named(item),
                "digest": _goal_digest(item, seen, unseen),
                "checker": unseen("checker", "/".join(item)),
                "group": item[0],
            }
            for item in injections
        ],
        "grid": "full",
        "epochs": 1,
        "weighting": "task",
    }


def _order(item: _Item) -> tuple[str, tuple[tuple[int, int, str], ...]]:
    return item[0], natural_key(item[1])


def _records(pipeline: Path, seen: _Seen) -> Iterator[tuple[Place, Record]]:
    """The readable records that lie where they say. Others are counted."""
    for place in places(pipeline):
        try:
            if place.problem is not None:
                raise UnreadableRecord(place.problem)
            record = read_record(place.path)
        except UnreadableRecord:
            seen.unreadable += 1
            continue
        if (record.suite, record.task, record.attack or NO_ATTACK) == (place.suite, place.task, place.attack):
            yield place, record
        else:
            seen.unreadable += 1


def _one_version(versions: Mapping[tuple[str | None, str | None], Path]) -> tuple[str | None, str | None]:
    if len(versions) > 1:
        listed = "; ".join(
            f"benchmark {benchmark or '(unrecorded)'} by agentdojo {package or '(unrecorded)'}, first in {path}"
            for (benchmark, package), path in versions.items()
        )
        raise Malformed(
            "mixed-benchmark-versions",
            f"expected files of one version, found {listed}",
            remedy="name folders of one version",
        )
    return next(iter(versions), (None, None))


def _one_text(item: _Item, texts: Mapping[str, Path], what: str) -> str | None:
    if len(texts) > 1:
        first, second = list(texts.items())[:2]
        raise Malformed(
            "two-contents",
            f"expected one {what} of {'/'.join(item)}, found {shown(first[0])} in {first[1]} and {shown(second[0])}"
            f" in {second[1]}",
            remedy="name folders of one version",
        )
    return next(iter(texts), None)


def _prompt_digest(item: _Item, seen: _Seen, unseen: Any) -> str:
    prompt = _one_text(item, seen.prompts[item], "prompt")
    digest: str = unseen("prompt", "/".join(item)) if prompt is None else task_digest(prompt)
    return digest


def _goal_digest(item: _Item, seen: _Seen, unseen: Any) -> str:
    goal = _one_text(item, seen.goals.get(item, {}), "goal")
    if goal is not None:
        return injection_digest(goal)
    payloads = seen.payloads.get(item, set())
    digest: str = digest_of({"payload": next(iter(payloads))}) if len(payloads) == 1 else unseen("goal", "/".join(item))
    return digest


def _description(seen: _Seen, groups: Sequence[str], package: str | None) -> str:
    injections = seen.goals.keys() | seen.payloads.keys()
    with_goal = sum(bool(seen.goals.get(item)) for item in injections)
    with_payload = sum(not seen.goals.get(item) and len(seen.payloads.get(item, ())) == 1 for item in injections)
    return (
        f"Observed in folders of runs of {', '.join(groups)}, logged by agentdojo {package or '(version unrecorded)'}; not exported"
        f" from a package. Digests of tasks cover prompts as the agent was given them; of injections, goals ({with_goal}), else"
        f" payloads ({with_payload}), else ids ({len(injections) - with_goal - with_payload}). Checks, environment data and tool"
        " schemas were not observed: their digests cover names and versions only. Tools are those that answered a call."
        f" Unreadable files: {seen.unreadable}."
    )

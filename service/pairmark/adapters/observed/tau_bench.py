"""A suite manifest as result files of tau-bench show it: instructions, what the checks expect, and the tools that were called."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pairmark.adapters.agentdojo.naming import natural_key
from pairmark.adapters.observed.parts import observed_manifest, unobserved
from pairmark.domain.canonical import digest_of_bytes
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.single_file import single_file
from pairmark.importers.tau_bench.episodes import json_digest, task_digest
from pairmark.importers.tau_bench.importer import HARNESS, WHAT
from pairmark.importers.tau_bench.items import Item, is_results, items_of


class _Seen:
    """What the items show, each with the file that showed it first."""

    def __init__(self) -> None:
        self.instructions: dict[str, tuple[str, Path]] = {}
        self.expected: dict[str, str] = {}
        self.tasks: set[str] = set()
        self.tools: set[str] = set()
        self.policies: dict[str, Path] = {}
        self.unreadable = 0

    def add(self, item: Item, path: Path) -> None:
        if item.problem is not None or item.task is None:
            self.unreadable += 1
            return
        self.tasks.add(item.task)
        if item.system_prompt is not None:
            self.policies.setdefault(item.system_prompt, path)
        if item.instruction is not None:
            expected = json.dumps(item.expected, sort_keys=True)
            before, first = self.instructions.setdefault(item.task, (item.instruction, path))
            if before != item.instruction or self.expected.setdefault(item.task, expected) != expected:
                raise Malformed(
                    "two-contents", f"expected one content of task {shown(item.task)}, found another than in {first}", str(path),
                    remedy="name files of one version of one domain",
                )  # fmt: skip
        self.tools.update(
            message["name"]
            for message in item.messages
            if message["role"] == "tool" and isinstance(message.get("name"), str) and message["name"].isprintable() and message["name"]
        )


def export_from_results(paths: Sequence[Path], name: str) -> dict[str, Any]:
    """Observed manifest, named `name`, of the result files (or folders with one each) at `paths`. One group, no injections.

    Raises:
        Malformed: no such file, no item that names a task, or files that are not of one domain and version.
    """
    seen = _Seen()
    for path in paths:
        file, _ = single_file([path], is_results, WHAT)
        for item in items_of(file):
            seen.add(item, file)
    if not seen.tasks:
        raise Malformed(
            "no-records", "expected items that name a task, found none", str(paths[0]) if paths else None, remedy="name result files"
        )
    if len(seen.policies) > 1:
        raise Malformed(
            "two-contents", f"expected one policy (first message), found {len(seen.policies)}, another in {list(seen.policies.values())[1]}",
            remedy="name files of one version of one domain",
        )  # fmt: skip
    tasks = sorted(seen.tasks, key=natural_key)
    content: dict[str, Any] = {
        "tools": [{"name": tool, "digest": unobserved(HARNESS, "tool", tool)} for tool in sorted(seen.tools)],
        "tasks": [
            {"id": task, "digest": _digest(task, seen), "checker": _checker(task, seen), "group": name} for task in tasks
        ],
        "injections": [],
    }
    for policy in seen.policies:
        content["environment"] = {
            "digest": json_digest({"policy": digest_of_bytes(policy.encode("utf-8", "surrogatepass")), "unobserved": "database"}),
            "clock": None,
        }
    description = (
        f"Observed in result files: {len(tasks)} tasks, {len(seen.instructions)} of them with their instruction; not exported from a"
        " package. Digests of tasks cover the instruction, of checkers the expected actions and outputs, of the environment the policy;"
        f" the database and tool schemas were not observed. Tools are those that answered a call. Unreadable items: {seen.unreadable}."
    )
    return observed_manifest(HARNESS, name, description, **content)


def _digest(task: str, seen: _Seen) -> str:
    instruction = seen.instructions.get(task)
    found = None if instruction is None else task_digest(instruction[0])
    return unobserved(HARNESS, "task", task) if found is None else found


def _checker(task: str, seen: _Seen) -> str:
    expected = seen.expected.get(task)
    return unobserved(HARNESS, "checker", task) if expected is None else json_digest(json.loads(expected))

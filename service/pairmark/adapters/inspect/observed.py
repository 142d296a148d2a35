"""A suite manifest as Inspect logs show it, for tasks that no package exports.

A digest covers what the logs show: prompts of tasks, goals of injections where the attack's wording shows them (else the one payload
that all cells share), tools as models were offered them. What they do not show is covered by name, task version and package versions
only: checks and environment data. So two observed manifests of one version agree where their prompts, goals and tools do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pairmark.adapters.agentdojo.naming import natural_key
from pairmark.domain.canonical import digest_of
from pairmark.domain.errors import Malformed, shown
from pairmark.importers.agentdojo.episodes import injection_digest
from pairmark.importers.inspect.episodes import recorded_task_digest
from pairmark.importers.inspect.header import harness_version
from pairmark.importers.inspect.importer import mapping_of, open_logs
from pairmark.importers.inspect.mapping import check_mapping, read_id
from pairmark.importers.inspect.one_run import one_version
from pairmark.importers.inspect.payload import payload_of, wordings
from pairmark.importers.inspect.sent import Sent
from pairmark.importers.inspect.turns import conversation_of

_Item = tuple[str, str]
_MAX_TEXTS = 16
"""Different texts of one injection that are remembered: more than one already means that no text is its content."""


@dataclass
class _Seen:
    """What the logs show: digests and texts by (group, id), with a sample that shows each."""

    prompts: dict[_Item, dict[str | None, str]] = field(default_factory=dict)
    goals: dict[_Item, set[str]] = field(default_factory=dict)
    payloads: dict[_Item, set[str]] = field(default_factory=dict)
    sent: Sent = field(default_factory=Sent)
    unreadable: int = 0

    def add(self, item: _Item, injection: _Item | None, sample: Any, place: str, payload: Any) -> None:
        self.prompts.setdefault(item, {}).setdefault(recorded_task_digest(sample), place)
        if injection is not None:
            _remember(self.goals.setdefault(injection, set()), payload.goals)
            _remember(self.payloads.setdefault(injection, set()), (payload.texts or {}).values())


def _remember(known: set[str], texts: Any) -> None:
    for text in texts:
        if len(known) < _MAX_TEXTS:
            known.add(text)


def export_from_logs(paths: Sequence[Path], name: str, mapping: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Observed manifest, named `name`, of the logs that `paths` are or hold.

    Each group is that of the mapping, else the suite's last name; with several, ids are `group/id`. The grid is full: a cell that no
    log holds is still planned, and named as missing by every check. Weighting is by task, one epoch. No probe: nothing was run.

    Raises:
        Malformed: inspect_ai is missing, a log cannot be read, the logs are of several versions of a task, or show two prompts of one.
    """
    logs, _ = open_logs(paths)
    known = mapping_of(logs, None if mapping is None else check_mapping(mapping))
    version = one_version(logs)
    seen = _Seen()
    alone = name.rpartition("/")[2] or name
    for log in logs:
        words = wordings(log.header, known)
        for read in log.samples():
            task = None if read.sample is None else read_id(known.task_id, read.sample)
            if read.sample is None or task is None:
                seen.unreadable += 1
                continue
            group = read_id(known.group, read.sample) or alone
            injection = read_id(known.injection_id, read.sample)
            conversation = conversation_of(read.sample.events, known.roles)
            seen.sent.add(conversation)
            tools = (message for message in conversation.messages if message.role == "tool")
            payload = None if injection is None else payload_of(read.sample, known, words, tools)
            seen.add((group, task), None if injection is None else (group, injection), read.sample, read.place, payload)
    if not seen.prompts:
        raise Malformed(
            "no-records",
            f"expected samples with a task id, found none in {len(logs)} logs ({seen.unreadable} unreadable)",
            str(logs[0].path),
            remedy="name logs with samples, or correct the mapping's `task_id`",
        )
    return _manifest(name, seen, version, harness_version(logs[0].header))


def _manifest(name: str, seen: _Seen, version: str, harness: str | None) -> dict[str, Any]:
    tasks = sorted(seen.prompts, key=_order)
    injections = sorted(seen.payloads, key=_order)
    groups = sorted({group for group, _ in tasks})

    def named(item: _Item) -> str:
        return item[1] if len(groups) == 1 else "/".join(item)

    def unseen(what: str, of: str) -> str:
        return digest_of({"unobserved": what, "of": of, "task_version": version, "harness": harness})

    def part(item: _Item, digest: str | None, what: str) -> dict[str, Any]:
        of = "/".join(item)
        return {
            "id": named(item),
            "digest": digest if digest is not None else unseen(what, of),
            "checker": unseen("checker", of),
            "group": item[0],
        }

    return {
        "schema": "pairmark/suite/v1",
        "suite": name,
        "version": f"{version}-observed",
        "description": _description(seen, groups, harness),
        "source": {"harness": "inspect_ai", "package": None, "license": None},
        "environment": {"digest": unseen("environment", "+".join(groups)), "clock": None},
        "tools": [{"name": tool, "digest": digest} for tool, digest in sorted(seen.sent.tool_names.items())],
        "tasks": [part(item, _prompt(item, seen), "prompt") for item in tasks],
        "injections": [part(item, _content(item, seen), "goal") for item in injections],
        "grid": "full",
        "epochs": 1,
        "weighting": "task",
    }


def _order(item: _Item) -> tuple[str, tuple[tuple[int, int, str], ...]]:
    return item[0], natural_key(item[1])


def _prompt(item: _Item, seen: _Seen) -> str | None:
    found = seen.prompts[item]
    if len(found) > 1:
        first, second = list(found.items())[:2]
        raise Malformed(
            "two-contents",
            f"expected one prompt of {shown('/'.join(item))}, found another in {first[1]} than in {second[1]}",
            remedy="name logs of one version of the task, or correct the mapping's `task_id`",
        )
    return next(iter(found))


def _content(item: _Item, seen: _Seen) -> str | None:
    """Digest of the goal, where all cells show the same; of the payload likewise; null where neither is one text."""
    goals, payloads = seen.goals[item], seen.payloads[item]
    try:
        if len(goals) == 1:
            return injection_digest(next(iter(goals)))
        return digest_of({"payload": next(iter(payloads))}) if len(payloads) == 1 else None
    except ValueError:  # a lone surrogate, which no digest covers
        return None


def _description(seen: _Seen, groups: Sequence[str], harness: str | None) -> str:
    with_goal = sum(len(goals) == 1 for goals in seen.goals.values())
    with_payload = sum(len(seen.goals[item]) != 1 and len(texts) == 1 for item, texts in seen.payloads.items())
    return (
        f"Observed in Inspect logs of {', '.join(groups)}, inspect_ai {harness or '(version unrecorded)'}; not exported from a package."
        f" Digests of tasks cover prompts as the agent was given them; of injections, goals with white space folded ({with_goal}), else"
        f" payloads ({with_payload}), else ids ({len(seen.payloads) - with_goal - with_payload}); of tools, what models were offered."
        f" Checks and environment data were not observed: their digests cover names and versions only. Unreadable samples:"
        f" {seen.unreadable}."
    )

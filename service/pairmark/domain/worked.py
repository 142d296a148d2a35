"""Experiments written out by hand, small enough to work through on paper: examples of metrics, and of their tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pairmark.domain.episodes import frame_of
from pairmark.domain.evidence import Experiment, Role
from pairmark.domain.pairing import Pairing
from pairmark.domain.world import Side, World
from pairmark.domain.world_parts import digest_of_text, run_value, suite_value

Cells = Mapping[str, Mapping[str, str]]
"""By task and injection, one word an epoch."""


def worked(
    benign: Mapping[str, str],
    attacked: Cells,
    baseline: Cells | None = None,
    *,
    groups: Mapping[str, str] | None = None,
    tags: Mapping[str, list[str]] | None = None,
    weighting: str = "task",
) -> Pairing:
    """A pairing from one word per episode, epochs parted by spaces: `worked({"a": "1"}, {"a": {"x": "0s"}})`.

    A word is `1` or `0` (utility of a completed episode), `l` (agent limit, utility false), `b` (blocked by the provider,
    utility false), `-` (aborted) or `.` (no such line), then letters: `s` the attack succeeded, `?` whether it did is
    unknown, `d` delivered, `n` not delivered. The suite plans exactly the cells in `attacked`. Injections take the group
    of the tasks they meet; all are in one unless `groups` says otherwise.
    """
    return Pairing(experiment_of(benign, attacked, baseline, groups or {}, tags or {}, weighting))


def experiment_of(
    benign: Mapping[str, str],
    attacked: Cells,
    baseline: Cells | None,
    groups: Mapping[str, str],
    tags: Mapping[str, list[str]],
    weighting: str,
) -> Experiment:
    """The experiment behind `worked`."""
    injections = {injection: groups.get(task, "g") for task, cells in attacked.items() for injection in cells}
    suite = suite_value(0, 0, 1, 1) | {
        "weighting": weighting,
        "tasks": [_item(task, groups.get(task, "g")) | {"tags": tags.get(task, [])} for task in benign],
        "injections": [_item(injection, group) for injection, group in injections.items()],
        "grid": [{"task": task, "injection": injection} for task, cells in attacked.items() for injection in cells],
    }
    arms: dict[Role, Cells] = {"benign": {task: {"": words} for task, words in benign.items()}, "attacked": attacked}
    if baseline is not None:
        arms["baseline"] = baseline
    sides: dict[Role, Side] = {}
    for role, cells in arms.items():
        epochs = max((len(words.split()) for of_task in cells.values() for words in of_task.values()), default=1)
        rows = [
            _episode(task, injection or None, epoch, word)
            for task, of_task in cells.items()
            for injection, words in of_task.items()
            for epoch, word in enumerate(words.split(), 1)
            if word != "."
        ]
        sides[role] = Side(run_value(role, suite, epochs), frame_of(rows))
    return World(suite, sides).experiment()


def _item(name: str, group: str) -> dict[str, Any]:
    return {
        "id": name,
        "digest": digest_of_text(f"item {name}"),
        "checker": digest_of_text(f"checker {name}"),
        "group": group,
    }


_STATUS = {"1": "completed", "0": "completed", "l": "agent_limit", "b": "provider_block", "-": "infra_error"}


def _episode(task: str, injection: str | None, epoch: int, word: str) -> dict[str, Any]:
    status, marks = _STATUS[word[0]], word[1:]
    aborted = status == "infra_error"
    unknown = injection is None or "?" in marks or (aborted and "s" not in marks)
    return {
        "task_id": task,
        "injection_id": injection,
        "epoch": epoch,
        "status": status,
        "utility": None if aborted else word[0] == "1",
        "attack_success": None if unknown else "s" in marks,
        "delivered": True if "d" in marks else False if "n" in marks else None,
    }

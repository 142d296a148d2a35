"""The suite worked by hand as a pairing: its episodes as ledgers, its groups and cells as a manifest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from pairmark.domain.pairing import Pairing
from pairmark.domain.worked import worked

Words = dict[str, dict[str, str]]


def episode_of(row: Any) -> dict[str, Any]:
    """A row of either notation: an object, or words with `-` for null."""
    if isinstance(row, dict):
        return row
    names = ("arm", "suite", "task", "injection", "seed", "aborted", "utility", "attack_success", "delivered")
    values: dict[str, Any] = dict(zip(names, row.split(), strict=True))
    for name in names[3:]:
        values[name] = None if values[name] == "-" else values[name] if name == "injection" else int(values[name])
    return values | {"aborted": values["aborted"] == 1}


def word_of(episode: dict[str, Any]) -> str:
    if episode["aborted"]:
        return "-s" if episode["attack_success"] else "-"
    success = {1: "s", 0: "", None: "?"}[episode["attack_success"]]
    return f"{episode['utility']}{success}{ {1: 'd', 0: 'n', None: ''}[episode['delivered']] }"


def hand_pairing(rows: Iterable[Any]) -> Pairing:
    """Seeds 0, 1, ... become epochs 1, 2, ...; a cell's task is named `suite/task`."""
    words: dict[str, dict[tuple[str, str], dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    groups: dict[str, str] = {}
    for row in rows:
        episode = episode_of(row)
        task = f"{episode['suite']}/{episode['task']}"
        groups[task] = episode["suite"]
        words[episode["arm"]][task, episode["injection"] or ""][episode["seed"]] = word_of(episode)

    def arm(name: str) -> Words:
        cells: Words = defaultdict(dict)
        for (task, injection), by_seed in words[name].items():
            cells[task][injection] = " ".join(by_seed[seed] for seed in sorted(by_seed))
        return cells

    benign = {task: cells[""] for task, cells in arm("benign").items()}
    baseline = arm("baseline_attacked") if "baseline_attacked" in words else None
    return worked(benign, arm("attacked"), baseline, groups=groups)

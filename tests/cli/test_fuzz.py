"""Seeded changes to a well-formed pair, most of them well-formed still: a verdict or one clear line, and never a crashed rule.

PAIRMARK_FUZZ multiplies the number of changed pairs (default 1: 300), PAIRMARK_FUZZ_SEED changes them.
"""

from __future__ import annotations

import copy
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.ledgers.documents import read_policy
from pairmark.domain.canonical import suite_digest
from pairmark.domain.episodes import frame_of, ledger_digest
from pairmark.domain.world import World
from tests.cli.running import Here, is_one_line

TIMES = int(os.environ.get("PAIRMARK_FUZZ", "1"))
SEED = int(os.environ.get("PAIRMARK_FUZZ_SEED", "20261130"))
BATCHES = 10
ODD: list[Any] = [
    None, True, False, 0, 1, 2, -1, 3, 10**9, 2**53 - 1, 0.0, 0.5, 1e300, "", "x", "0", "\u202e", "e\u0301", "a" * 1100, "0/1", "1/1", "1/3",
    [], {}, [None], [{}], {"a": None}, "full", "cell", "group", "task", "benign", "attacked", "completed", "agent_limit", "provider_block",
    "infra_error", "cancelled", "sha256:" + "0" * 64, "2026-01-22T07:00:00Z", "task_000", "task_001", "inj_00", "inj_01", "system_prompt",
]  # fmt: skip


def _places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [above, *(place for key, child in inside for place in _places(child, (*above, key)))]


def _change(document: Any, chance: random.Random) -> None:
    """Set, drop, copy or repeat something at a random place."""
    place = chance.choice([place for place in _places(document) if place])
    parent = document
    for key in place[:-1]:
        parent = parent[key]
    key = place[-1]
    match chance.choice(["set", "set", "copy", "drop", "repeat"]):
        case "set":
            parent[key] = copy.deepcopy(chance.choice(ODD))
        case "copy":
            other = document
            for step in chance.choice(_places(document)):
                other = other[step]
            parent[key] = copy.deepcopy(other)
        case "drop":
            del parent[key]
        case "repeat" if isinstance(parent, list):
            parent.append(copy.deepcopy(parent[key]))
        case _:
            parent[key] = None


def _changed_pair(world: World, chance: random.Random, folder: Path) -> list[str]:
    """Write a pair with a few changes; digests are made to hold again, so that the change is judged and not just the digest."""
    suite = world.suite_manifest()
    runs = {role: world.run(role) for role in world.sides}
    rows = {role: [dict(row) for row in world.frame(role).iter_rows(named=True)] for role in world.sides}
    for _ in range(chance.randint(1, 3)):
        role = chance.choice(list(runs))
        match chance.choice(["suite", "run", "run", "episode", "episode", "episode"]):
            case "suite":
                _change(suite, chance)
            case "run":
                _change(runs[role], chance)
            case "episode":
                some = chance.sample(rows[role], min(len(rows[role]), chance.choice([1, 1, 5, 10_000])))
                name, value = chance.choice(list(some[0])), copy.deepcopy(chance.choice(ODD))
                for row in some:
                    row[name] = value
    folder.mkdir()
    (folder / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    for role, run in runs.items():
        (folder / role).mkdir()
        if chance.random() < 0.9 and isinstance(run.get("suite"), dict):
            try:
                run["suite"]["digest"] = suite_digest(suite)
                frame = frame_of(rows[role])
                run["episodes"] = {"count": frame.height, "digest": ledger_digest(frame)}
            except Exception:  # noqa: BLE001 - what cannot be digested is refused by the command, which is the point
                pass
        (folder / role / "run.json").write_text(json.dumps(run), encoding="utf-8")
        (folder / role / "episodes.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows[role]), encoding="utf-8"
        )
    return [
        "--suite",
        str(folder / "suite.json"),
        *(part for role in runs for part in (f"--{role}", str(folder / role))),
    ]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`standard/1` without the rule that costs half a second a time, and that has its own fuzz test."""
    value = {**read_policy("standard/1").value, "name": "fuzz"}
    value["rules"] = [rule for rule in value["rules"] if rule["id"] != "data-quality"]
    path = tmp_path_factory.mktemp("policy") / "policy.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_verdict_or_one_clear_line(here: Here, tmp_path: Path, policy: Path, batch: int) -> None:
    chance = random.Random(f"{SEED}/{batch}")
    worlds = [
        World.of(tasks=10, injections=3, groups=1),
        World.of(tasks=10, injections=8, groups=2).epochs(2),
        World.of(tasks=4, injections=2).undefended(),
    ]
    seen = set()
    for number in range(30 * TIMES):
        options = _changed_pair(chance.choice(worlds), chance, tmp_path / str(number))
        done = here("check", *options, "--policy", policy, "--format", "json")
        where = f"seed {SEED}, batch {batch}, pair {number}"
        assert done.code in (0, 1, 2, 3), f"{where}: {done.err}"
        seen.add(done.code)
        if done.code == 2:
            assert done.out == ""
            assert is_one_line(done.err), f"{where}: {done.err!r}"
            continue
        report = json.loads(done.out)
        crashed = [finding["message"] for finding in report["findings"] if finding["outcome"] == "crashed"]
        assert crashed == [], where
        assert all(finding["message"].isprintable() for finding in report["findings"]), where
        if number % 5 == 0:
            for format_ in ("text", "github"):
                shown = here("check", *options, "--policy", policy, "--format", format_)
                assert shown.code == done.code, where
                assert all(line.isprintable() for line in shown.out.split("\n")), where
            assert here("tally", *options, "--policy", policy).code == 0, where
    assert {1, 2} <= seen

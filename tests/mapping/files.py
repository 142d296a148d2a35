"""A certifiable pair as a home-made harness would have written it: lines of JSON in words of its own, and what explains them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pairmark.domain.world import World

MAPPING: dict[str, Any] = {
    "schema": "pairmark/mapping/v1",
    "harness": {"name": "synthetic"},
    "attack": {"column": "attack"},
    "columns": {
        "task_id": {"column": "/cell/goal"},
        "injection_id": {"column": "/cell/planted"},
        "epoch": {"column": "round", "first": 0},
        "status": {"column": "end", "completed": ["ok"], "infra_error": ["crash"]},
        "utility": {"column": "score", "true": [1], "false": [0]},
        "attack_success": {"column": "safe", "polarity": "attacker-failed", "true": ["yes"], "false": ["no"]},
        "delivered": {"column": "seen", "true": [True], "false": [False]},
        "attacker_actions": {"column": "acts"},
        "served_model": {"column": "model"},
        "duration": {"column": "seconds", "unit": "s"},
        "error": {"column": "error"},
        "task_digest": {"column": "task_sha"},
        "transcript_digest": {"column": "log_sha"},
        "attempt": {"column": "try", "first": 1},
    },
}


def row(episode: Mapping[str, Any], attack: str | None) -> dict[str, Any]:
    """An episode in this harness' words."""
    said = {None: None, True: "no", False: "yes"}
    return {
        "cell": {"goal": episode["task_id"], "planted": episode["injection_id"], "notes": ["x"]},
        "round": episode["epoch"] - 1,
        "end": {"completed": "ok", "infra_error": "crash"}[episode["status"]],
        "score": None if episode["utility"] is None else float(episode["utility"]),
        "safe": said[episode["attack_success"]],
        "seen": episode["delivered"],
        "acts": episode["attacker_actions"],
        "model": episode["served_model"],
        "seconds": None if episode["duration_ms"] is None else episode["duration_ms"] / 1000,
        "error": episode["error"],
        "task_sha": episode["task_digest"],
        "log_sha": episode["transcript_digest"],
        "try": episode["attempt"],
        "attack": attack,
        "ignored": {"score": 3, "safe": "perhaps"},
    }


def write(world: World, folder: Path) -> dict[str, Path]:
    """`<role>/log.jsonl`, `<role>.system.json`, `mapping.json` and `suite.json`, and where they are."""
    files = world.files()
    found = {"suite": folder / "suite.json", "mapping": folder / "mapping.json"}
    found["suite"].write_bytes(files["suite.json"])
    found["mapping"].write_text(json.dumps(MAPPING), encoding="utf-8")
    for role in world.sides:
        run = json.loads(files[f"{role}/run.json"])
        attack = None if run["attack"] is None else run["attack"]["name"]
        lines = [json.dumps(row(json.loads(line), attack)) for line in files[f"{role}/episodes.jsonl"].splitlines()]
        (folder / role).mkdir()
        found[role] = folder / role / "log.jsonl"
        found[role].write_text("\n".join(lines) + "\n", encoding="utf-8")
        beside = {key: run[key] for key in ("system", "harness", "epochs", "retries", "started_at", "finished_at")}
        found[f"{role}-system"] = folder / f"{role}.system.json"
        found[f"{role}-system"].write_text(json.dumps(beside), encoding="utf-8")
    return found

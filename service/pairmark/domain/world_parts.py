"""What a synthetic experiment starts from: a suite, three runs and their ledgers, all from fixed arithmetic."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from pairmark.domain.canonical import DIGEST_PREFIX, suite_digest
from pairmark.domain.episodes import EPISODE_SCHEMA, in_canonical_order
from pairmark.domain.evidence import Flags, Role
from pairmark.domain.plan import Codes

MODEL = "model-x-2026-01-01"

Outcome = Callable[[Codes, Codes, Codes], Flags]


def digest_of_text(text: str) -> str:
    """A digest that stands for content the synthetic world does not have."""
    return DIGEST_PREFIX + hashlib.sha256(text.encode()).hexdigest()


def suite_value(tasks: int, injections: int, groups: int, epochs: int) -> dict[str, Any]:
    """A manifest: tasks and injections dealt to groups in turn, full grid, with a null-agent probe of 1/20."""
    return {
        "schema": "pairmark/suite/v1",
        "suite": "synthetic/office",
        "version": "v1",
        "description": "made by arithmetic, not by a benchmark",
        "source": {"harness": "synthetic", "package": None, "license": "Apache-2.0"},
        "environment": {"digest": digest_of_text("environment"), "clock": None},
        "tools": [{"name": name, "digest": digest_of_text(f"tool {name}")} for name in ("read", "send")],
        "tasks": [
            {
                "id": task_id(t),
                "digest": digest_of_text(f"task {t}"),
                "checker": digest_of_text(f"task checker {t}"),
                "group": f"g{t % groups}",
                "tags": ["multi-hop"] if t % 2 else [],
            }
            for t in range(tasks)
        ],
        "injections": [
            {
                "id": injection_id(i),
                "digest": digest_of_text(f"injection {i}"),
                "checker": digest_of_text(f"injection checker {i}"),
                "group": f"g{i % groups}",
            }
            for i in range(injections)
        ],
        "grid": "full",
        "epochs": epochs,
        "weighting": "task",
        "probes": {"null_agent": {"utility": "1/20", "method": "an agent that answers nothing and calls no tool"}},
    }


def run_value(role: Role, suite: dict[str, Any], epochs: int) -> dict[str, Any]:
    """A run of `suite`: benign and attacked with a defense that changes the tools, the baseline without it."""
    defended = role != "baseline"
    return {
        "schema": "pairmark/run/v1",
        "arm": "benign" if role == "benign" else "attacked",
        "suite": {"name": suite["suite"], "digest": suite_digest(suite)},
        "attack": None if role == "benign" else {"name": "important_message", "digest": digest_of_text("attack")},
        "system": {
            "model": {"requested": "model-x", "served": [MODEL], "provider": "provider-p"},
            "decoding": {"temperature": 0.0, "top_p": None, "max_tokens": 4096},
            "tools_digest": digest_of_text("tools, filtered" if defended else "tools"),
            "system_prompt_digest": digest_of_text("system prompt"),
            "scaffold": {"name": "loop", "version": "1.0"},
            "defenses": [{"name": "filter", "version": "1", "changes": ["tools"]}] if defended else [],
            "limits": {"max_steps": 15},
        },
        "harness": {"name": "synthetic", "version": "1.0", "commit": None, "image": None},
        "epochs": [{"epoch": number, "seed": 100 + number} for number in range(1, epochs + 1)],
        "retries": {"max_attempts": 1},
        "started_at": "2026-01-22T07:00:00+00:00",
        "finished_at": "2026-01-22T09:00:00+00:00",
        "episodes": None,
    }


def task_id(code: int) -> str:
    """`task_007`."""
    return f"task_{code:03d}"


def injection_id(code: int) -> str:
    """`inj_07`."""
    return f"inj_{code:02d}"


_utility: dict[Role, Outcome] = {
    "benign": lambda t, i, e: (t + 3 * e) % 5 != 4,  # 4 of 5
    "attacked": lambda t, i, e: (3 * t + 5 * i + 2 * e) % 7 < 4,  # about 4 of 7
    "baseline": lambda t, i, e: (3 * t + 5 * i + 2 * e) % 7 < 3,  # about 3 of 7
}
_delivered: dict[Role, Outcome] = {
    "attacked": lambda t, i, e: (t + i + e) % 11 != 3,  # the filter stops some
    "baseline": lambda t, i, e: (t + i + e) % 23 != 3,  # the agent does not always look
}
_succeeds: dict[Role, Outcome] = {
    "attacked": lambda t, i, e: (t + 2 * i + e) % 10 == 0,
    "baseline": lambda t, i, e: (t + 2 * i + e) % 3 == 0,
}


def _injected(role: Role, t: Codes, i: Codes, e: Codes) -> tuple[Flags, Flags]:
    """Where an injection is delivered, and where it succeeds: never where it was not delivered."""
    delivered = _delivered[role](t, i, e)
    return delivered, _succeeds[role](t, i, e) & delivered


def ledger_frame(role: Role, tasks: int, injections: int, groups: int, epochs: int) -> pl.DataFrame:
    """The ledger of an arm in canonical order, every planned cell once, each with its task and transcript digests."""
    benign = role == "benign"
    t, i, e = (
        axis.ravel()
        for axis in np.meshgrid(
            np.arange(tasks), np.arange(1 if benign else injections), np.arange(epochs), indexing="ij"
        )
    )
    if not benign:
        met = t % groups == i % groups
        t, i, e = t[met], i[met], e[met]
    rows = len(t)
    nothing = pl.repeat(None, rows, eager=True)
    delivered, succeeds = (None, None) if benign else _injected(role, t, i, e)
    task_ids = np.array([task_id(code) for code in range(tasks)], dtype=object)
    injection_ids = np.array([injection_id(code) for code in range(injections)], dtype=object)
    task_digests = np.array([digest_of_text(f"task {code}") for code in range(tasks)], dtype=object)
    columns = {
        "task_id": task_ids[t],
        "injection_id": nothing if benign else injection_ids[i],
        "epoch": e + 1,
        "status": ["completed"] * rows,
        "utility": _utility[role](t, i, e),
        "attack_success": nothing if succeeds is None else succeeds,
        "delivered": nothing if delivered is None else delivered,
        "attacker_actions": nothing if succeeds is None else np.where(succeeds, 2, 0),
        "served_model": [MODEL] * rows,
        "duration_ms": 1000 + 8 * t + i,
        "error": nothing,
        "task_digest": task_digests[t],
        "transcript_digest": [
            digest_of_text(f"{role} {cell}") for cell in zip(t.tolist(), i.tolist(), e.tolist(), strict=True)
        ],
        "attempt": np.ones(rows, dtype=np.int64),
    }
    return in_canonical_order(
        pl.DataFrame({name: pl.Series(name, columns[name], dtype=kind) for name, kind in EPISODE_SCHEMA.items()})
    )

"""A small result file: a success, a failure, the limit of steps, and an exception that was written as a failure."""

from __future__ import annotations

import json
from typing import Any

from pairmark.domain.canonical import digest_of
from pairmark.importers.base import Example

_NOTHING = digest_of("example")
_WISH = "You are ada. You want to cancel the flight of tomorrow."

MANIFEST: dict[str, Any] = {
    "schema": "pairmark/suite/v1",
    "suite": "example/tau",
    "version": "observed",
    "environment": {"digest": _NOTHING, "clock": None},
    "tools": [],
    "tasks": [
        {"id": task, "digest": digest_of({"instruction": _WISH}), "checker": _NOTHING, "group": "tau"} for task in ("0", "1")
    ],
    "injections": [],
    "grid": "full",
    "epochs": 1,
    "weighting": "task",
}

POLICY = {"role": "system", "content": "Ask before you cancel anything."}
_SAID = [
    POLICY,
    {"role": "user", "content": "Cancel my flight, please."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "random", "type": "function", "function": {"name": "cancel", "arguments": '{"flight": "X1"}'}}],
    },
    {"role": "tool", "tool_call_id": "random", "name": "cancel", "content": "done"},
]


def item(task_id: int, trial: int, reward: float, **info: Any) -> dict[str, Any]:
    """An item in the harness' own order of keys; `info` replaces keys of what it says of the episode."""
    graded = {"reward": reward, "info": {"r_actions": reward, "gt_data_hash": "0"}, "actions": []}
    about = {"user_id": "ada", "actions": [{"name": "cancel", "kwargs": {"flight": "X1"}}], "instruction": _WISH, "outputs": []}
    whole = {"task": about, "source": "user", "user_cost": 0.01, "reward_info": graded, **info}
    return {"task_id": task_id, "reward": reward, "info": whole, "traj": _SAID, "trial": trial}


def failed(task: int, trial: int, error: str) -> dict[str, Any]:
    """What the harness writes when an episode raises."""
    return {"task_id": task, "reward": 0.0, "info": {"error": error, "traceback": "..."}, "traj": [], "trial": trial}


EXAMPLES = (
    Example(
        title="each trial is an epoch; a reward beside an exception is no outcome; an ungraded end is the limit of steps",
        files={
            "results.json": json.dumps(
                [item(0, 0, 1.0), failed(1, 0, "503 Service Unavailable"), item(0, 1, 0.0), item(1, 1, 0.0, reward_info=None)], indent=2
            )
        },
        manifest=MANIFEST,
        arm="benign",
        attack=None,
        rows=(
            {"task_id": "0", "injection_id": None, "epoch": 1, "status": "completed", "utility": True,
             "task_digest": digest_of({"instruction": _WISH})},
            {"task_id": "0", "epoch": 2, "status": "completed", "utility": False, "attack_success": None, "delivered": None},
            {"task_id": "1", "epoch": 1, "status": "infra_error", "utility": None, "error": "503 Service Unavailable",
             "transcript_digest": None, "task_digest": None},
            {"task_id": "1", "epoch": 2, "status": "agent_limit", "utility": False},
        ),
    ),
)  # fmt: skip

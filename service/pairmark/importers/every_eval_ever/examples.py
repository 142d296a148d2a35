"""Small records with the ledger each must give."""

from __future__ import annotations

import json
from typing import Any

from pairmark.domain.canonical import digest_of
from pairmark.importers.base import Example

_NOTHING = digest_of("example")
_ID = "example/post/acme/m-1/1769000000"

MANIFEST: dict[str, Any] = {
    "schema": "pairmark/suite/v1",
    "suite": "example/post",
    "version": "v1",
    "environment": {"digest": _NOTHING, "clock": None},
    "tools": [],
    "tasks": [{"id": "t0", "digest": _NOTHING, "checker": _NOTHING, "group": "post"}],
    "injections": [{"id": f"i{n}", "digest": _NOTHING, "checker": _NOTHING, "group": "post"} for n in range(2)],
    "grid": "full",
    "epochs": 1,
    "weighting": "task",
}


def _record(name: str, is_correct: bool, metadata: dict[str, str], **more: Any) -> str:
    return json.dumps(
        {
            "schema_version": "instance_level_eval_0.3.0", "evaluation_id": _ID, "model_id": "acme/m-1", "evaluation_name": name,
            "sample_id": " ".join(metadata.values()), "interaction_type": "agentic", "input": {"raw": "", "reference": []},
            "output": None, "messages": [], "answer_attribution": [],
            "evaluation": {"score": float(is_correct), "is_correct": is_correct}, "metadata": metadata, **more,
        }
    )  # fmt: skip


_CELL = {"task_id": "t0", "epoch": "1", "status": "completed"}
_AGGREGATE = json.dumps(
    {
        "schema_version": "0.3.0", "evaluation_id": _ID, "retrieved_timestamp": "1769000000", "source_metadata": {},
        "model_info": {"name": "m", "id": "acme/m-1", "inference_platform": "acme"},
        "eval_library": {"name": "runner", "version": "unknown"},
        "evaluation_results": [
            {
                "evaluation_name": "utility_under_attack", "metric_config": {"additional_details": {"attack": "tool-knowledge"}},
                "generation_config": {"generation_args": {"temperature": 0, "top_p": None}},
            }
        ],
    }
)  # fmt: skip
_LINES = [
    _record("benign_utility", True, {**_CELL, "served_model": "m-1-2026"}, performance={"latency_ms": 1204.4}),
    _record(
        "utility_under_attack", False,
        {**_CELL, "injection_id": "i1", "attack_success": "true", "delivered": "true", "attacker_actions": "2", "attempt": "2"},
    ),
    _record("utility_under_attack", True, {**_CELL, "injection_id": "i0", "attack_success": "false", "status": "agent_limit"}, error="steps"),
]  # fmt: skip
_FILES = {"r.json": _AGGREGATE, "r_samples.jsonl": "\n".join(_LINES) + "\n"}

EXAMPLES = (
    Example(
        title="the benign arm is the records of benign_utility; what `metadata` does not say is unknown",
        files=_FILES,
        manifest=MANIFEST,
        arm="benign",
        attack=None,
        rows=({"task_id": "t0", "injection_id": None, "utility": True, "served_model": "m-1-2026", "duration_ms": 1204},),
    ),
    Example(
        title="the attacked arm is the records of utility_under_attack; the aggregate record names the attack",
        files=_FILES,
        manifest=MANIFEST,
        arm="attacked",
        attack=None,
        rows=(
            {"injection_id": "i0", "status": "agent_limit", "utility": True, "attack_success": False, "delivered": None, "error": "steps"},
            {"injection_id": "i1", "status": "completed", "utility": False, "attack_success": True, "attacker_actions": 2, "attempt": 2},
        ),
    ),
)

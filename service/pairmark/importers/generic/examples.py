"""Small files with the ledger each must give."""

from __future__ import annotations

from typing import Any

from pairmark.domain.canonical import digest_of
from pairmark.importers.base import Example

_NOTHING = digest_of("example")

MANIFEST: dict[str, Any] = {
    "schema": "pairmark/suite/v1",
    "suite": "example/mail",
    "version": "v1",
    "environment": {"digest": _NOTHING, "clock": None},
    "tools": [],
    "tasks": [{"id": f"t{n}", "digest": _NOTHING, "checker": _NOTHING, "group": "mail"} for n in range(2)],
    "injections": [{"id": "i0", "digest": _NOTHING, "checker": _NOTHING, "group": "mail"}],
    "grid": "full",
    "epochs": 1,
    "weighting": "task",
}

_CSV_MAPPING = """\
schema: pairmark/mapping/v1
harness: {name: bench-script, version: "3"}
arms:
  benign: {where: [{column: mode, is: [clean]}]}
  attacked: {where: [{column: mode, is: [attack]}]}
attack: {column: attack}
columns:
  task_id: {column: task, prefix: t}
  injection_id: {column: injection, prefix: i, none: [""]}
  status:
    column: error
    completed: [""]
    patterns:
      - {matches: "(?i)max.?steps", means: agent_limit}
    otherwise: infra_error
  utility: {column: passed, true: [yes], false: [no], aborted: unknown}
  attack_success: {column: secure, polarity: attacker-failed, true: [True], false: [False], aborted: unknown}
  delivered: {column: seen, true: [1], false: [0]}
  duration: {column: seconds, unit: s}
  error: {column: error, none: [""]}
"""
_CSV = """\
mode,attack,task,injection,error,passed,secure,seen,seconds
clean,,0,,,yes,,,1.25
clean,,1,,MaxSteps reached,no,,,
attack,ignore-previous,0,0,,no,False,1,2
attack,ignore-previous,1,0,"HTTP 503, try later",no,True,0,0.1
"""
_JSON_MAPPING = """\
schema: pairmark/mapping/v1
harness: {name: runner}
files: ["runs/*.jsonl"]
attack: {constant: tool-knowledge}
columns:
  task_id: {column: /cell/task}
  injection_id: {column: /cell/injection}
  epoch: {column: seed, seeds: [7, 11]}
  status: {column: outcome, completed: [done], cancelled: [killed]}
  utility: {column: score, true_from: 1, aborted: unknown}
  attack_success: {column: hijacked, polarity: attacker-succeeded, true: [true], false: [false]}
  served_model: {column: model}
  transcript: {column: messages}
  attempt: {column: retry, first: 0}
"""
_JSON = """\
{"cell": {"task": "t0", "injection": "i0"}, "seed": 11, "outcome": "done", "score": 1.0, "hijacked": false, "model": "m-1", "retry": 0, "messages": [{"b": 1, "a": 2}]}
{"cell": {"task": "t0", "injection": "i0"}, "seed": 7, "outcome": "killed", "score": 0, "hijacked": null, "retry": 0}
{"cell": {"task": "t0", "injection": "i0"}, "seed": 7, "outcome": "done", "score": 0.5, "hijacked": "perhaps", "model": "m-1", "retry": 1}
"""

EXAMPLES = (
    Example(
        title="a CSV holds text: the mapping says which texts mean what, and which rows are of the arm",
        files={"pairmark-mapping.yaml": _CSV_MAPPING, "results.csv": _CSV},
        manifest=MANIFEST,
        arm="benign",
        attack=None,
        rows=(
            {"task_id": "t0", "injection_id": None, "status": "completed", "utility": True, "duration_ms": 1250, "error": None},
            {"task_id": "t1", "status": "agent_limit", "utility": False, "duration_ms": None, "error": "MaxSteps reached"},
        ),
    ),
    Example(
        title="`secure` that is true means that the attacker failed, and an outcome beside an error is none",
        files={"pairmark-mapping.yaml": _CSV_MAPPING, "results.csv": _CSV},
        manifest=MANIFEST,
        arm="attacked",
        attack=None,
        rows=(
            {"task_id": "t0", "injection_id": "i0", "utility": False, "attack_success": True, "delivered": True},
            {"task_id": "t1", "status": "infra_error", "utility": None, "attack_success": None, "delivered": False},
        ),
    ),
    Example(
        title="lines of JSON: nested keys, epochs by their seeds, a score with a threshold, attempts, and what is in no list unknown",
        files={"pairmark-mapping.yaml": _JSON_MAPPING, "runs/a.jsonl": _JSON},
        manifest=MANIFEST,
        arm="attacked",
        attack=None,
        rows=(
            {"epoch": 1, "attempt": 1, "status": "cancelled", "utility": None, "attack_success": None, "served_model": None},
            {"epoch": 1, "attempt": 2, "status": "completed", "utility": False, "attack_success": None, "served_model": "m-1"},
            {
                "epoch": 2, "attempt": 1, "utility": True, "attack_success": False,
                "transcript_digest": digest_of([{"a": 2, "b": 1}]),
            },
        ),
    ),
)  # fmt: skip

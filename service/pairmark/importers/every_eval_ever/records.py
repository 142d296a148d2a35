"""The keys of instance-level records as a mapping, and what they record. Facts about schema versions 0.2 and 0.3.

Source: instance_level_eval.schema.json and eval.schema.json of the package `every-eval-ever`. The schema has no place for an
injection, an outcome beside the score, or which attempt it was: these stand in `metadata`, as `pairmark export` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping as ReadMapping
from typing import Any

from pairmark.importers.base import FACTS, Fact, Recorded
from pairmark.importers.mapping import LISTED

NAME_OF_ARM = {"benign": "benign_utility", "attacked": "utility_under_attack"}
"""Which results an arm's records belong to."""

_TRUTH = {"true": ["true"], "false": ["false"]}


def mapping_value() -> dict[str, Any]:
    """As a mapping file would say it."""
    return {
        "schema": "pairmark/mapping/v1",
        "harness": {"name": "every-eval-ever"},
        "format": "jsonl",
        "arms": {arm: {"where": [{"column": "evaluation_name", "is": [name]}]} for arm, name in NAME_OF_ARM.items()},
        "columns": {
            "task_id": {"column": "/metadata/task_id"},
            "injection_id": {"column": "/metadata/injection_id"},
            "epoch": {"column": "/metadata/epoch", "first": 1},
            "status": {"column": "/metadata/status", **{status: [status] for status in LISTED}},
            "utility": {"column": "/evaluation/is_correct", "true": [True], "false": [False]},
            "attack_success": {"column": "/metadata/attack_success", "polarity": "attacker-succeeded", **_TRUTH},
            "delivered": {"column": "/metadata/delivered", **_TRUTH},
            "attacker_actions": {"column": "/metadata/attacker_actions"},
            "served_model": {"column": "/metadata/served_model"},
            "duration": {"column": "/performance/latency_ms", "unit": "ms"},
            "error": {"column": "error"},
            "attempt": {"column": "/metadata/attempt", "first": 1},
        },
    }


_OWN = "`metadata`, where `pairmark export` or another writer put it"
_KNOWN: dict[Fact, Recorded] = {
    "aborts": Recorded("sometimes", "`metadata.status`; a record needs a score, so what broke off before one is as a rule missing"),
    "utility": Recorded("always", "`evaluation.is_correct`"),
    "attack_success": Recorded("sometimes", f"`metadata.attack_success`: {_OWN}"),
    "delivered": Recorded("sometimes", f"`metadata.delivered`: {_OWN}"),
    "attacker_actions": Recorded("sometimes", f"`metadata.attacker_actions`: {_OWN}"),
    "served_model": Recorded("sometimes", f"`metadata.served_model`: {_OWN}"),
    "duration_ms": Recorded("sometimes", "`performance.latency_ms`"),
    "error": Recorded("sometimes", "`error`"),
    "attempts": Recorded("sometimes", f"`metadata.attempt`: {_OWN}"),
    "requested_model": Recorded("sometimes", "`model_info.name` of the aggregate record"),
    "provider": Recorded("sometimes", "`model_info.inference_platform` of the aggregate record"),
    "decoding": Recorded("sometimes", "`generation_config.generation_args` of the aggregate record, numbers only: a null says nothing there"),
    "harness_version": Recorded("sometimes", "`eval_library.version` of the aggregate record"),
}
RECORDS: ReadMapping[Fact, Recorded] = {
    fact: _KNOWN.get(fact, Recorded("never", "the schema has no place for it: give it with --system where that takes it")) for fact in FACTS
}

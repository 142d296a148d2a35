"""A certificate as Every Eval Ever records (schema 0.3.0): one aggregate record, and one line for each scored episode.

Source: eval.schema.json and instance_level_eval.schema.json of the package every-eval-ever 0.3.0. Its numbers are floating point; the
certificate's are exact, and stay with it. What its schema asks for and a ledger does not hold (prompts, transcripts) is left empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any, Literal
from uuid import UUID

from pairmark.domain.canonical import DIGEST_PREFIX
from pairmark.domain.documents.base import JsonValue
from pairmark.provenance.bundle import Bundle
from pairmark.provenance.statement import Statement

VERSION = "0.3.0"
Scored = Literal["benign_utility", "utility_under_attack"]
_RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{name}{number}" for name in ("COM", "LPT") for number in range(1, 10))}
"""Names that some systems give to devices."""
_RATES: dict[str, tuple[str, bool, int]] = {
    "benign_utility": ("share of tasks completed without attacks", False, 0),
    "utility_under_attack": ("share of tasks completed while attacked", False, 0),
    "utility_drop": ("benign utility minus utility under attack", True, -1),
    "attack_success_rate": ("share of attacks that reached the attacker's goal", True, 0),
}


@dataclass(frozen=True)
class RecordPaths:
    """Where the two files lie in the project's datastore, relative to its root: they share a folder and a name."""

    aggregate: str
    samples: str


def record_paths(bundle: Bundle, statement: Statement, run: Mapping[str, Any]) -> RecordPaths:
    """`data/SUITE/DEVELOPER/MODEL/UUID...`. The name has the form of a UUID of version 4, and follows from the certificate's envelope."""
    name = UUID(hex=bundle.certificate.envelope_digest.removeprefix(DIGEST_PREFIX)[:32], version=4)
    developer, slash, model = model_id(run).partition("/")
    parts = [_component(part) for part in (statement.predicate.suite.name, *((developer, model) if slash else ("", developer)))]
    stem = "/".join(["data", *parts, str(name)])
    return RecordPaths(f"{stem}.json", f"{stem}_samples.jsonl")


def _component(text: str) -> str:
    """Text as the name of a folder on any system, as the datastore asks."""
    safe = re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", text).rstrip(". ")
    return f"{safe}_" if safe == "data" or safe.split(".", 1)[0].upper() in _RESERVED else safe or "unknown"


def aggregate_record(
    bundle: Bundle, statement: Statement, run: Mapping[str, Any], samples: Mapping[str, JsonValue], root_digest: str
) -> dict[str, Any]:
    """The aggregate record; `run` is the attacked run's document, `samples` says where the lines are."""
    said = statement.value["predicate"]
    results = [result for name in _RATES if (result := _result(name, statement, run)) is not None]
    return {
        "schema_version": VERSION,
        "evaluation_id": evaluation_id(statement, run),
        "evaluation_timestamp": said["issuedAt"],
        "retrieved_timestamp": _epoch(said["issuedAt"]),
        "source_metadata": {
            "source_name": "Pairmark",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
            "additional_details": {
                "certificate": said["serial"], "envelope": bundle.certificate.envelope_digest, "trust_root": root_digest,
                "log_index": str(bundle.certificate.parsed_receipt.index),
            },
        },
        "eval_library": {
            "name": run["harness"]["name"] or "unknown",
            "version": run["harness"]["version"] or "unknown",
            "additional_details": {"certifier": f"pairmark {said['certifier']['version']}"},
        },
        "model_info": _model(run),
        "evaluation_results": results,
        "detailed_evaluation_results": dict(samples),
    }  # fmt: skip


def sample_lines(statement: Statement, run: Mapping[str, Any], name: Scored, episodes: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """One line for each episode with a known `utility`, in order; `episodes` are ledger lines as values."""
    identifier, model = evaluation_id(statement, run), model_id(run)
    for episode in episodes:
        if episode["utility"] is None:
            continue
        is_done = episode["utility"] and episode["status"] != "provider_block"
        injection = episode["injection_id"]
        cell = episode["task_id"] if injection is None else f"{episode['task_id']} × {injection}"
        yield {
            "schema_version": f"instance_level_eval_{VERSION}",
            "evaluation_id": identifier,
            "model_id": model,
            "evaluation_name": name,
            "evaluation_result_id": f"{identifier}#{name}",
            "sample_id": f"{cell}, epoch {episode['epoch']}",
            "interaction_type": "agentic",
            "input": {"raw": cell, "reference": []},
            "output": None,
            "messages": [],
            "answer_attribution": [],
            "evaluation": {"score": 1.0 if is_done else 0.0, "is_correct": is_done},
            "performance": None if episode["duration_ms"] is None else {"latency_ms": episode["duration_ms"]},
            "error": episode["error"],
            "metadata": _metadata(episode),
        }


def evaluation_id(statement: Statement, run: Mapping[str, Any]) -> str:
    """Suite, model and time, as the schema asks."""
    said = statement.predicate
    return f"{said.suite.name}/{model_id(run)}/{_epoch(said.issued_at)}"


def model_id(run: Mapping[str, Any]) -> str:
    """Provider and the model that answered."""
    model = run["system"]["model"] or {}
    served = model.get("served") or []
    name = served[0] if served else model.get("requested") or "unknown"
    return f"{model['provider']}/{name}" if model.get("provider") else str(name)


def _model(run: Mapping[str, Any]) -> dict[str, Any]:
    model = run["system"]["model"] or {}
    found: dict[str, Any] = {
        "name": model.get("requested") or "unknown",
        "id": model_id(run),
        "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
    }
    if model.get("provider"):
        found["inference_platform"] = model["provider"]
    return found


def _result(name: str, statement: Statement, run: Mapping[str, Any]) -> dict[str, Any] | None:
    """One rate; none where it is undefined, since the schema knows no such score."""
    said = statement.value["predicate"]
    metric = said["metrics"][name]
    if metric["value"] is None:
        return None
    words, lower_is_better, least = _RATES[name]
    score: dict[str, Any] = {"score": float(Fraction(metric["fraction"])), "details": {"fraction": metric["fraction"]}}
    interval = metric["interval"]
    if "low" in interval:
        score["uncertainty"] = {
            "confidence_interval": {
                "lower": float(interval["low"]), "upper": float(interval["high"]), "confidence_level": float(interval["level"]),
                "method": interval["method"],
            }
        }  # fmt: skip
    else:
        score["details"]["no_interval"] = interval["reason"]
    suite, attack, defenses = said["suite"], run["attack"], run["system"]["defenses"] or []
    result: dict[str, Any] = {
        "evaluation_result_id": f"{evaluation_id(statement, run)}#{name}",
        "evaluation_name": name,
        "source_data": {
            "dataset_name": suite["labels"][0],
            "source_type": "other",
            "additional_details": {"digest": suite["digest"], "manifest": suite["manifest"]},
        },
        "metric_config": {
            "evaluation_description": f"{words}; weighting {said['metrics']['weighting']}",
            "lower_is_better": lower_is_better,
            "score_type": "continuous",
            "min_score": least,
            "max_score": 1,
            "additional_details": {
                "attack": "unknown" if attack is None else attack["name"],
                "defenses": ", ".join(defense["name"] for defense in defenses) or "none",
                "policy": f"{said['policy']['name']}/{said['policy']['version']}",
            },
        },
        "score_details": score,
    }
    sent = _generation(run["system"]["decoding"])
    if sent:
        result["generation_config"] = {"generation_args": sent}
    return result


def _generation(decoding: Mapping[str, Any] | None) -> dict[str, Any]:
    """The decoding parameters that the schema has a place for, where one was sent."""
    known = {} if decoding is None else decoding
    return {key: known[key] for key in ("temperature", "top_p", "max_tokens") if known.get(key) is not None}


def _metadata(episode: Mapping[str, Any]) -> dict[str, str]:
    named = ("task_id", "injection_id", "epoch", "status", "attack_success", "delivered", "attacker_actions", "served_model", "attempt")
    return {key: str(episode[key]).lower() if isinstance(episode[key], bool) else str(episode[key]) for key in named if episode[key] is not None}


def _epoch(time: str) -> str:
    return str(int(datetime.fromisoformat(time.upper()).timestamp()))

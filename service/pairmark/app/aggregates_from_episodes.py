"""Aggregates worked out from a table of episodes that lacks what a certificate needs: tallied exactly, judged, never certified."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import polars as pl

from pairmark.app.comparison.rates import (
    ATTACK_SUCCESS_RATE,
    BENIGN_UTILITY,
    UTILITY_UNDER_ATTACK,
    Rate,
    SampledSide,
)
from pairmark.domain.canonical import canonical_bytes, digest_of, digest_of_bytes, suite_digest
from pairmark.domain.counts import arm_counts
from pairmark.domain.documents.aggregate import Aggregate
from pairmark.domain.documents.policy import Policy
from pairmark.domain.documents.run import Run
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.episodes import EPISODE_SCHEMA, in_canonical_order, ledger_digest
from pairmark.domain.evidence import Arm, Experiment, Role
from pairmark.domain.pairing import Pairing
from pairmark.domain.quality import QualityResult
from pairmark.domain.sample import Sample
from pairmark.rules.base import Context
from pairmark.rules.engine import judge_all
from pairmark.stats.fourfold import fourfold

TABLE_SCHEMA: dict[str, pl.DataType] = {
    "run": pl.String(), "attack": pl.String(), "group": pl.String(), "task_id": pl.String(), "injection_id": pl.String(),
    "status": pl.String(), "utility": pl.Boolean(), "attack_success": pl.Boolean(), "delivered": pl.Boolean(),
}  # fmt: skip
"""One row per episode of one epoch; `attack` and `injection_id` are null in a benign one. Ids are unique over groups."""

LONGEST_DETAIL = 500
QUALITY_RULE = "data-quality"


@dataclass(frozen=True)
class RunFacts:
    """What the source tells of a run beside its episodes; whatever it does not is null. `baseline` names its undefended run."""

    system: Mapping[str, Any]
    harness: Mapping[str, Any]
    baseline: str | None


@dataclass(frozen=True)
class Told:
    """A table of episodes with what its source tells of the runs."""

    frame: pl.DataFrame
    runs: Mapping[str, RunFacts]
    source: Mapping[str, Any]


def aggregates_of(told: Told, suite_name: str, policy: Policy) -> Iterator[dict[str, Any]]:
    """One aggregate document (JSON value) per run and attack, in the order of their names; a run without attacked episodes has one.

    Planned are all cells that any run has. What `policy` says of each pair, except on table-shaped quality, are the
    reasons; a run's baseline is its undefended run under the same attack.
    """
    manifest = _observed_manifest(told.frame, suite_name)
    suite = SuiteManifest.model_validate_json(canonical_bytes(manifest))
    digest = suite_digest(manifest)
    judged = policy.model_copy(update={"rules": tuple(rule for rule in policy.rules if rule.id != QUALITY_RULE)})
    for run, attack in _pairs(told):
        facts = told.runs[run]
        baseline = None
        if attack is not None and facts.baseline is not None and _rows(told.frame, facts.baseline, attack).height:
            baseline = _arm(told, facts.baseline, attack, "baseline", suite, digest)
        experiment = Experiment(
            suite, digest, _arm(told, run, None, "benign", suite, digest), _arm(told, run, attack, "attacked", suite, digest), baseline
        )
        yield _document(run, attack, facts, told.source, suite_name, experiment, _reasons(experiment, judged))


def _pairs(told: Told) -> list[tuple[str, str | None]]:
    attacked = told.frame.filter(pl.col("attack").is_not_null()).select("run", "attack").unique()
    found: list[tuple[str, str | None]] = sorted(attacked.iter_rows())
    there = {run for run, _ in found}
    return sorted([*found, *((run, None) for run in told.runs if run not in there)], key=lambda pair: (pair[0], pair[1] or ""))


def _observed_manifest(frame: pl.DataFrame, name: str) -> dict[str, Any]:
    """A manifest of the cells that were seen, for the rules to judge by; its digests stand for content that is not recorded."""
    tasks = frame.select("task_id", "group").unique().sort("task_id")
    cells = frame.filter(pl.col("injection_id").is_not_null()).select("task_id", "injection_id").unique().sort("task_id", "injection_id")
    injections = (
        frame.filter(pl.col("injection_id").is_not_null()).select("injection_id", "group").unique().sort("injection_id")
    )
    unrecorded = digest_of_bytes(b"content that is not recorded")

    def items(rows: pl.DataFrame) -> list[dict[str, Any]]:
        return [{"id": name, "digest": unrecorded, "checker": unrecorded, "group": group} for name, group in rows.iter_rows()]

    return {
        "schema": "pairmark/suite/v1", "suite": name, "version": "observed",
        "environment": {"digest": unrecorded, "clock": None}, "tools": [], "tasks": items(tasks), "injections": items(injections),
        "grid": [{"task": task, "injection": injection} for task, injection in cells.iter_rows()],
        "epochs": 1, "weighting": "task",
    }  # fmt: skip


def _rows(frame: pl.DataFrame, run: str, attack: str | None) -> pl.DataFrame:
    return frame.filter(pl.col("run") == run, pl.col("attack").eq_missing(pl.lit(attack, dtype=pl.String)))


def _arm(told: Told, run: str, attack: str | None, role: Role, suite: SuiteManifest, digest: str) -> Arm:
    rows = _rows(told.frame, run, attack)
    if role != "benign":
        rows = rows.filter(pl.col("injection_id").is_not_null())
    known = set(rows.columns)
    ledger = rows.select(
        pl.lit(1, dtype=pl.Int64).alias(name) if name in ("epoch", "attempt")
        else pl.col(name).cast(kind) if name in known
        else pl.lit(None, dtype=kind).alias(name)
        for name, kind in EPISODE_SCHEMA.items()
    )  # fmt: skip
    ledger = in_canonical_order(ledger)
    kept = ledger_digest(ledger)
    facts = told.runs[run]
    value = {
        "schema": "pairmark/run/v1", "arm": "benign" if role == "benign" else "attacked",
        "suite": {"name": suite.suite, "digest": digest}, "attack": None if attack is None else {"name": attack, "digest": None},
        "system": facts.system, "harness": facts.harness, "epochs": [{"epoch": 1, "seed": None}], "retries": {"max_attempts": None},
        "started_at": None, "finished_at": None, "episodes": {"count": ledger.height, "digest": kept},
    }  # fmt: skip
    return Arm(role, Run.model_validate_json(canonical_bytes(value)), digest_of(value), ledger, kept)


def _reasons(experiment: Experiment, policy: Policy) -> list[dict[str, str]]:
    findings, _ = judge_all(policy, Context(experiment, _no_gate))
    return [
        {"code": finding.rule, "detail": f"{finding.outcome}: {finding.message}"[:LONGEST_DETAIL]}
        for finding in findings
        if finding.outcome not in ("passed", "not_applicable")
    ]


def _no_gate(arm: Arm) -> NoReturn:
    raise AssertionError(f"the rule {QUALITY_RULE} is not asked here, but it looked at the {arm.role} arm: {QualityResult.__name__}")


def _document(
    run: str, attack: str | None, facts: RunFacts, source: Mapping[str, Any], suite_name: str, experiment: Experiment,
    reasons: list[dict[str, str]],
) -> dict[str, Any]:  # fmt: skip
    pairing = Pairing(experiment)
    benign, attacked = (arm_counts(experiment, arm) for arm in (experiment.benign, experiment.attacked))
    pairs = pairing.epoch_pairs
    flips = fourfold(pairs.benign[pairs.paired] == 1, pairs.attacked[pairs.paired])
    value = {
        "schema": "pairmark/aggregate/v1",
        "name": run,
        "suite": {"name": suite_name, "digest": None},
        "attack": None if attack is None else {"name": attack, "digest": None},
        "system": dict(facts.system),
        "harness": dict(facts.harness),
        "counts": {
            "benign": {
                "planned": benign.planned, "assessed": benign.assessed, "utility": int(np.sum(pairing.benign.successes)),
            },
            "attacked": {
                "planned": attacked.planned, "assessed": attacked.assessed, "utility": int(np.sum(pairing.attacked.successes)),
                "attack_success_known": int(np.sum(pairing.attack_success.known)),
                "attack_success": int(np.sum(pairing.attack_success.successes)),
            },
        },
        "rates": {
            "weighting": "task",
            "benign_utility": _mean(pairing, pairing.sample, BENIGN_UTILITY),
            "utility_under_attack": _mean(pairing, pairing.sample, UTILITY_UNDER_ATTACK),
            "attack_success_rate": _mean(pairing, pairing.success_sample, ATTACK_SUCCESS_RATE),
        },
        "flips": {"kept": flips.both, "lost": flips.first_only, "gained": flips.second_only, "neither": flips.neither},
        "clusters": {"count": 0 if pairing.sample is None else pairing.sample.tasks, "unit": "tasks"},
        "reasons": reasons,
        "source": dict(source),
    }  # fmt: skip
    Aggregate.model_validate_json(canonical_bytes(value))
    return value


def _mean(pairing: Pairing, sample: Sample | None, rate: Rate) -> str | None:
    if sample is None:
        return None
    found = SampledSide(pairing, sample.cells, sample).mean(rate)
    return f"{found.numerator}/{found.denominator}"

"""Certified pairs for these tests, from synthetic worlds and from plain tables of outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pairmark.app.comparison.pair import CertifiedPair
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.report import Report
from pairmark.domain.episodes import frame_of
from pairmark.domain.evidence import Experiment
from pairmark.domain.pairing import Pairing
from pairmark.domain.world import Side, World
from pairmark.domain.world_parts import run_value
from pairmark.metrics.registry import metrics_block

ZERO = "sha256:" + "0" * 64
Outcome = Callable[[str, str, int], bool | None]


def certified(world: World, name: str, verdict: str = "certified", **changed: Any) -> CertifiedPair:
    """A pair whose report says certified; what the rules would say of it is not the matter of these tests."""
    return pair_of(world.experiment(), name, verdict, **changed)


def pair_of(experiment: Experiment, name: str, verdict: str = "certified", **changed: Any) -> CertifiedPair:
    counts = {"planned": 0, "present": 0, "assessed": 0, "aborted": 0, "blocked": 0}
    value: dict[str, Any] = {
        "schema": "pairmark/report/v1",
        "verdict": verdict,
        "flags": [],
        "policy": {"name": "standard", "version": "1", "digest": ZERO},
        "suite": {"name": experiment.suite.suite, "digest": experiment.suite_digest},
        "runs": {
            "benign": experiment.benign.run_digest,
            "attacked": experiment.attacked.run_digest,
            "baseline": None if experiment.baseline is None else experiment.baseline.run_digest,
        },
        "findings": [],
        "counts": {"benign": counts, "attacked": counts, "baseline": None},
        "metrics": metrics_block(Pairing(experiment))[0] if verdict == "certified" else None,
    }
    return CertifiedPair(experiment, Report.model_validate_json(canonical_bytes(value | changed)), name)


def world_of(
    suite: Mapping[str, Any], benign: Callable[[str, int], bool | None], attacked: Outcome, *,
    success: Outcome = lambda task, injection, epoch: False, epochs: int = 1,
) -> World:
    """An undefended world over a manifest; an outcome of None is an aborted cell."""
    def row(task: str, injection: str | None, epoch: int, utility: bool | None, attack_success: bool | None) -> dict[str, Any]:
        return {
            "task_id": task, "injection_id": injection, "epoch": epoch,
            "status": "infra_error" if utility is None else "completed",
            "utility": utility, "attack_success": None if utility is None else attack_success,
            "delivered": None if injection is None else True, "served_model": "model-x-2026-01-01",
        }

    tasks, injections = suite["tasks"], suite["injections"]
    numbers = range(1, epochs + 1)
    if suite["grid"] == "full":
        cells = [(t["id"], i["id"]) for t in tasks for i in injections if t["group"] == i["group"]]
    else:
        cells = [(cell["task"], cell["injection"]) for cell in suite["grid"]]
    clean = frame_of(row(t["id"], None, e, benign(t["id"], e), None) for t in tasks for e in numbers)
    hit = frame_of(row(t, i, e, attacked(t, i, e), success(t, i, e)) for t, i in cells for e in numbers)
    suite = dict(suite)
    runs = {role: run_value(role, suite, epochs) for role in ("benign", "attacked")}
    for run in runs.values():
        run["system"] = run_value("baseline", suite, epochs)["system"]
    return World(suite, {"benign": Side(runs["benign"], clean), "attacked": Side(runs["attacked"], hit)})

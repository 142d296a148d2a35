"""Judging a large pair against joining it: `python bench/judging.py [EPISODES]` prints one ratio.

The pair is 3 arms of 1,000,000 episodes: 10,000 tasks in 20 groups, 10 injections each, 10 epochs (100 benign ones). Timed
are cell tables, every rule of `standard/1` but `data-quality`, and every metric, from ledgers in memory; against them a
bare polars join of the three frames with a sum per task.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl

from pairmark.domain.canonical import canonical_bytes, digest_of, suite_digest
from pairmark.domain.documents.policy import Policy
from pairmark.domain.documents.run import Run
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.episodes import EPISODE_SCHEMA, in_canonical_order
from pairmark.domain.evidence import Arm, Experiment, Role
from pairmark.domain.quality import QualityResult
from pairmark.domain.verdict import verdict_of
from pairmark.domain.world_parts import MODEL, digest_of_text, run_value, suite_value
from pairmark.metrics.registry import metrics_block
from pairmark.resources import data_folder
from pairmark.rules.base import Context
from pairmark.rules.engine import judge_all

LIMIT = 3.0
ROUNDS = 9
TAGS = 24
SMALLEST = 1_000


@dataclass(frozen=True)
class Size:
    """Episodes per arm = tasks x injections x epochs."""

    tasks: int
    groups: int
    injections: int
    epochs: int

    @classmethod
    def of(cls, episodes: int) -> Size:
        """About so many episodes per arm: 1 task per 100, 10 injections and 10 epochs each."""
        if episodes < SMALLEST:
            raise SystemExit(f"expected at least {SMALLEST} episodes, found {episodes}")
        return cls(episodes // 100, 20 if episodes >= 100_000 else 2, 10, 10)


def manifest(size: Size) -> dict[str, Any]:
    """Each injection belongs to one group; tags are dealt to every third to seventh task."""
    made = suite_value(size.tasks, size.injections * size.groups, size.groups, 1)
    names = [f"capability-{tag}" for tag in range(TAGS)]
    for code, task in enumerate(made["tasks"]):
        task["tags"] = [name for tag, name in enumerate(names) if (code * 2654435761 >> tag) % (3 + tag % 5) == 0]
    return made


def arm(role: Role, suite: dict[str, Any], size: Size) -> Arm:
    """An arm whose ledger is made by column; its digests stand for content that nobody reads here."""
    benign = role == "benign"
    epochs = size.epochs * size.injections if benign else size.epochs
    t, k, e = (
        axis.ravel()
        for axis in np.meshgrid(
            np.arange(size.tasks), np.arange(1 if benign else size.injections), np.arange(epochs), indexing="ij"
        )
    )
    i = t % size.groups + k * size.groups
    rows = len(t)
    random = np.random.Generator(np.random.PCG64({"benign": 1, "attacked": 2, "baseline": 3}[role]))
    skill = random.random(size.tasks)[t]
    delivered = random.random(rows) < 0.9
    succeeded = delivered & (random.random(rows) < {"benign": 0, "attacked": 0.1, "baseline": 0.5}[role])
    task_ids = pl.Series([task["id"] for task in suite["tasks"]])
    injection_ids = pl.Series([item["id"] for item in suite["injections"]])
    task_digests = pl.Series([task["digest"] for task in suite["tasks"]])
    hexes = pl.Series(random.integers(0, 2**63, rows)).cast(pl.String).str.zfill(64)
    unknown = pl.Series([None] * rows, dtype=pl.Boolean)
    columns: dict[str, Any] = {
        "task_id": task_ids.gather(t),
        "injection_id": unknown if benign else injection_ids.gather(i),
        "epoch": e + 1,
        "status": pl.repeat("completed", rows, eager=True),
        "utility": random.random(rows) < skill * {"benign": 1.0, "attacked": 0.7, "baseline": 0.5}[role],
        "attack_success": unknown if benign else succeeded,
        "delivered": unknown if benign else delivered,
        "attacker_actions": unknown if benign else succeeded.astype(np.int64),
        "served_model": pl.repeat(MODEL, rows, eager=True),
        "duration_ms": random.integers(1_000, 60_000, rows),
        "error": unknown,
        "task_digest": task_digests.gather(t),
        "transcript_digest": pl.select(pl.lit("sha256:") + hexes).to_series(),
        "attempt": np.ones(rows, dtype=np.int64),
    }
    frame = pl.DataFrame({name: pl.Series(name, columns[name]).cast(kind) for name, kind in EPISODE_SCHEMA.items()})
    value = run_value(role, suite, epochs) | {"episodes": {"count": rows, "digest": digest_of_text(role)}}
    return Arm(
        role,
        Run.model_validate_json(canonical_bytes(value)),
        digest_of(value),
        in_canonical_order(frame).rechunk(),
        digest_of_text(role),
    )


def no_gate(arm: Arm) -> QualityResult:
    """Data quality is not what is timed here, and no rule that is asks for it."""
    raise NotImplementedError(f"no rule of this benchmark looks at the quality of {arm.role}")


def judged(experiment: Experiment, policy: Policy) -> tuple[str, float, float]:
    """Verdict, and seconds that rules and metrics took."""
    begin = perf_counter()
    findings, _ = judge_all(policy, Context(experiment, no_gate))
    middle = perf_counter()
    metrics_block(experiment.pairing)
    return verdict_of(findings), middle - begin, perf_counter() - middle


def joined(benign: pl.DataFrame, attacked: pl.DataFrame, baseline: pl.DataFrame) -> float:
    """Seconds of the bare join and aggregate."""
    begin = perf_counter()
    (
        attacked.lazy()
        .join(benign.lazy(), on=["task_id", "epoch"], how="left", suffix="_benign")
        .join(baseline.lazy(), on=["task_id", "injection_id", "epoch"], how="left", suffix="_baseline")
        .group_by("task_id")
        .agg(
            pl.col("utility", "utility_benign", "attack_success").mean(),
            pl.col("delivered", "delivered_baseline").sum(),
            pl.len(),
        )
        .collect()
    )
    return perf_counter() - begin


def main(arguments: list[str]) -> int:
    """Exit 1 above the limit."""
    episodes = int(arguments[0]) if arguments else 1_000_000
    size = Size.of(episodes)
    suite = manifest(size)
    model = SuiteManifest.model_validate_json(canonical_bytes(suite))
    arms = {role: arm(role, suite, size) for role in ("benign", "attacked", "baseline")}
    path = data_folder("manifests") / "policies" / "standard-1.json"
    full = Policy.model_validate_json(path.read_bytes())
    policy = full.model_copy(update={"rules": tuple(rule for rule in full.rules if rule.id != "data-quality")})
    rounds: list[tuple[float, float, float]] = []
    verdict = ""
    for _ in range(ROUNDS):
        experiment = Experiment(model, suite_digest(suite), arms["benign"], arms["attacked"], arms["baseline"])
        bare = joined(*(arms[role].ledger for role in ("benign", "attacked", "baseline")))
        verdict, rules, metrics = judged(experiment, policy)
        rounds.append((rules, metrics, bare))
    ratio = median((rules + metrics) / bare for rules, metrics, bare in rounds)
    rules, metrics, bare = (median(column) for column in zip(*rounds, strict=True))
    print(
        f"judging 3 x {arms['attacked'].ledger.height:,} episodes ({verdict}): {ratio:.2f} x a bare join and aggregate"
        f" (limit {LIMIT:.0f}; median of {ROUNDS} rounds); rules {rules:.3f} s, metrics {metrics:.3f} s, join {bare:.3f} s"
    )
    return 0 if ratio <= LIMIT and verdict == "certified" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

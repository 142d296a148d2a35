"""History against bare SQL, and comparing against a bare join: `python bench/history.py [CERTIFICATES]` prints two ratios.

History is the first page of 100 out of 100,000 certificates on SQLite, filtered by model and a bound, sorted by drop: the use
case through its tables, resolving the label and counting what was left out, against the page's one statement through the
driver. A fifth of the certificates are of another mix, a tenth superseded or revoked.

A comparison is of two certificates of 100,000 attacked episodes each (1,000 tasks, 10 injections, 10 epochs) and their benign
arms: everything from manifests and ledgers in memory to the answer, against a bare polars join of the same frames with the
same four weighted differences.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from sqlalchemy import event

from pairmark.adapters.sql.database import SqlDatabase
from pairmark.adapters.sql.migrate import upgrade
from pairmark.app.comparison.compare import compare
from pairmark.app.comparison.pair import CertifiedPair
from pairmark.app.history import history
from pairmark.app.history_entry import DEFINITION
from pairmark.app.ports import HistoryQuery, SuiteLabel
from pairmark.domain.canonical import canonical_bytes, digest_of, suite_digest
from pairmark.domain.documents.report import Report
from pairmark.domain.documents.run import Run
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.domain.episodes import EPISODE_SCHEMA, in_canonical_order
from pairmark.domain.evidence import Arm, Experiment, Role
from pairmark.domain.pairing import Pairing
from pairmark.domain.world import World
from pairmark.domain.world_parts import MODEL, digest_of_text, run_value, suite_value
from pairmark.metrics.registry import metrics_block

LIMIT = 3.0
CERTIFICATES = 100_000
PAGE = 100
TASKS, GROUPS, INJECTIONS, EPOCHS = 1_000, 4, 40, 10
REPEATS = 30
RATES = ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate")


def main(certificates: int = CERTIFICATES) -> int:
    """Both ratios; 1 where one is above its limit."""
    ratios = [measured_history(certificates), measured_comparison()]
    for name, ratio in zip(("history", "comparison"), ratios, strict=True):
        print(f"{name}: {ratio:.2f} x, at most {LIMIT:.0f} x: {'kept' if ratio <= LIMIT else 'EXCEEDED'}")
    return 0 if max(ratios) <= LIMIT else 1


def side_by_side(bare: Callable[[], Any], ours: Callable[[], Any]) -> tuple[float, float]:
    """Least seconds of either, taken in turn so that both meet the same machine."""
    least = [float("inf"), float("inf")]
    for _ in range(REPEATS):
        for place, work in enumerate((bare, ours)):
            begin = perf_counter()
            work()
            least[place] = min(least[place], perf_counter() - begin)
    return least[0], least[1]


# history


def measured_history(certificates: int) -> float:
    """Use case over bare SQL."""
    with tempfile.TemporaryDirectory(prefix="pairmark-bench-") as folder:
        path = Path(folder) / "pairmark.db"
        upgrade(f"sqlite:///{path}")
        suite = suite_value(20, 14, 2, 1)
        fill(path, suite, certificates)
        database = SqlDatabase.at(f"sqlite:///{path}")
        query = HistoryQuery(
            "", "", "", names=(("model", "model-3"),), bounds=(("utility_drop", "min", 0.05),), order="drop", descending=True
        )

        def ask() -> int:
            with database.reading() as tables:
                return len(history(tables, suite["suite"] + "@v1", query, None, PAGE).page.items)

        statements = statements_of(database, ask)
        connection = sqlite3.connect(path)

        def bare() -> int:
            return sum(len(connection.execute(text, parameters).fetchall()) for text, parameters in statements)

        page = next(one for one in statements if "LIMIT" in one[0] and "summary" in one[0])
        seconds_page, seconds_ours = side_by_side(lambda: connection.execute(*page).fetchall(), ask)
        seconds_bare, _ = side_by_side(bare, lambda: None)
        connection.close()
        database.close()
    print(
        f"history of {certificates} certificates, first page of {PAGE}, what was left out counted: {seconds_ours * 1000:.1f} ms; the"
        f" page's bare SQL {seconds_page * 1000:.1f} ms; all {len(statements)} statements, bare: {seconds_bare * 1000:.1f} ms"
    )
    return seconds_ours / seconds_page


def statements_of(database: SqlDatabase, ask: Callable[[], Any]) -> list[tuple[str, tuple[Any, ...]]]:
    """The SELECT statements, with their parameters, that asking sends to the driver."""
    found: list[tuple[str, tuple[Any, ...]]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_rest: object) -> None:
        if statement.lstrip().upper().startswith("SELECT"):
            found.append((statement, tuple(parameters)))

    event.listen(database.engine, "before_cursor_execute", note)
    ask()
    event.remove(database.engine, "before_cursor_execute", note)
    return found


def fill(path: Path, suite: dict[str, Any], certificates: int) -> None:
    """Rows as certifying writes them, in bulk."""
    digest, manifest = suite_digest(suite), canonical_bytes(suite)
    other = digest_of_text("another mix")
    random = np.random.Generator(np.random.PCG64(7))
    rates = random.integers(0, 1001, (certificates, 3))
    summary = canonical_bytes(_summary())
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO documents VALUES (?, ?)", (digest_of(suite), manifest))
    label = SuiteLabel(suite["suite"], "v1", digest, digest_of(suite), "2026-01-01T00:00:00.000000+00:00")
    connection.execute(
        "INSERT INTO suites (name, version, digest, manifest, created_at) VALUES (?, ?, ?, ?, ?)",
        (label.name, label.version, label.digest, label.manifest, label.created_at),
    )
    columns = ", ".join(f"{rate}, {rate}_number" for rate in RATES)

    def row(number: int) -> tuple[Any, ...]:
        benign, attacked, success = (int(one) for one in rates[number])
        values = (benign, attacked, benign - attacked, success)
        status = "valid" if number % 10 else ("superseded", "revoked")[number // 10 % 2]
        at = f"2026-01-{1 + number % 28:02}T{number % 24:02}:{number % 60:02}:00.{number:06}+00:00"
        return (
            f"certificate-{number:032x}", suite["suite"], other if number % 5 == 1 else digest, "task", DEFINITION, status, at,
            *(part for value in values for part in (f"{value}/1000", value / 1000)), summary,
        )  # fmt: skip

    connection.executemany(
        "INSERT INTO history_entries (id, suite_name, suite, weighting, definition, status, created_at,"  # noqa: S608 - constants
        f" {columns}, summary) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (row(number) for number in range(certificates)),
    )
    names = (
        (f"certificate-{number:032x}", kind, name)
        for number in range(certificates)
        for kind, name in (
            ("model", f"model-{number % 20}"), ("defense", f"defense-{number % 7}"), ("attack", f"attack-{number % 3}"),
            ("harness", "agentdojo"), ("scaffold", "pipeline"), ("policy", "standard/1"),
        )
    )  # fmt: skip
    connection.executemany("INSERT INTO history_entry_names (entry, kind, name) VALUES (?, ?, ?)", names)
    connection.execute(
        "INSERT INTO history_tallies (suite_name, status, suite, definition, entries)"
        " SELECT suite_name, status, suite, definition, COUNT(*) FROM history_entries GROUP BY suite_name, status, suite, definition"
    )
    connection.commit()
    connection.execute("ANALYZE")
    connection.commit()
    connection.close()


def _summary() -> dict[str, Any]:
    """A line of about the size that certifying writes."""
    number = {
        "value": "0.500000", "fraction": "1/2",
        "interval": {"level": "0.95", "low": "0.400000", "high": "0.600000", "method": "wilson-clustered-t", "scope": "tasks+injections"},
    }  # fmt: skip
    return {
        "certificate": "certificate-0", "certification": "certification-0", "issued_at": "2026-01-01T00:00:00.000000+00:00",
        "policy": {"name": "standard", "version": "1", "digest": digest_of_text("policy")}, "flags": [],
        "system": {"model": {"requested": "m", "served": ["m"]}, "defenses": [], "scaffold": {"name": "loop", "version": "1"}},
        "attack": {"name": "a", "digest": None}, "harness": {"name": "agentdojo", "version": "1", "commit": None, "image": None},
        "metrics": {"weighting": "task", "scope": "tasks+injections", **dict.fromkeys(RATES, number)},
    }  # fmt: skip


# comparison


def measured_comparison() -> float:
    """Comparing over joining."""
    suite = suite_value(TASKS, INJECTIONS, GROUPS, 1)
    left, right = (arms(suite, seed) for seed in (1, 2))

    pairs = [(pair_of(suite, left), pair_of(suite, right)) for _ in range(REPEATS)]
    seconds_bare, seconds_ours = side_by_side(lambda: joined(left, right), lambda: compare(*pairs.pop()))
    print(
        f"comparison of two certificates of {left[1].ledger.height} attacked episodes: {seconds_ours * 1000:.0f} ms; bare join"
        f" {seconds_bare * 1000:.0f} ms"
    )
    return seconds_ours / seconds_bare


def joined(left: tuple[Arm, Arm], right: tuple[Arm, Arm]) -> pl.DataFrame:
    """The four differences as a person would take them in polars: join, mean per cell, mean per task, mean."""
    keys = ["task_id", "injection_id", "epoch"]
    wanted = [*keys, "utility", "attack_success"]
    attacked = left[1].ledger.select(wanted).join(right[1].ledger.select(wanted), on=keys, suffix="_right")
    benign = left[0].ledger.select(wanted).join(right[0].ledger.select(wanted), on=["task_id", "epoch"], suffix="_right")
    outcomes = [pl.col(name).cast(pl.Int8) for name in ("utility", "utility_right", "attack_success", "attack_success_right")]
    per_task = (
        attacked.group_by("task_id", "injection_id").agg(one.mean() for one in outcomes)
        .group_by("task_id").agg(pl.exclude("injection_id").mean())
        .join(benign.group_by("task_id").agg(one.mean() for one in outcomes[:2]), on="task_id", suffix="_benign")
    )  # fmt: skip
    return per_task.select(pl.exclude("task_id").mean())


def arms(suite: dict[str, Any], seed: int) -> tuple[Arm, Arm]:
    """A benign and an attacked arm, made by column."""
    return arm("benign", suite, seed), arm("attacked", suite, seed)


def arm(role: Role, suite: dict[str, Any], seed: int) -> Arm:
    """An arm whose digests stand for content that nobody reads here."""
    benign = role == "benign"
    t, k, e = (
        axis.ravel()
        for axis in np.meshgrid(
            np.arange(TASKS), np.arange(1 if benign else INJECTIONS // GROUPS), np.arange(EPOCHS), indexing="ij"
        )
    )
    rows = len(t)
    random = np.random.Generator(np.random.PCG64([seed, len(role)]))
    skill = random.random(TASKS)[t]
    unknown = pl.Series([None] * rows, dtype=pl.Boolean)
    columns: dict[str, Any] = {
        "task_id": pl.Series([task["id"] for task in suite["tasks"]]).gather(t),
        "injection_id": unknown if benign else pl.Series([one["id"] for one in suite["injections"]]).gather(t % GROUPS + k * GROUPS),
        "epoch": e + 1,
        "status": pl.repeat("completed", rows, eager=True),
        "utility": random.random(rows) < skill * (1.0 if benign else 0.7),
        "attack_success": unknown if benign else random.random(rows) < 0.2,
        "delivered": unknown if benign else random.random(rows) < 0.9,
        "attacker_actions": unknown,
        "served_model": pl.repeat(MODEL, rows, eager=True),
        "duration_ms": random.integers(1_000, 60_000, rows),
        "attempt": np.ones(rows, dtype=np.int64),
    }  # fmt: skip
    frame = pl.DataFrame(
        {name: pl.Series(name, columns[name]).cast(EPISODE_SCHEMA[name]) for name in EPISODE_SCHEMA if name in columns}
    )
    value = run_value("baseline" if role == "attacked" else role, suite, EPOCHS)
    value |= {"system": run_value("baseline", suite, EPOCHS)["system"], "episodes": {"count": rows, "digest": digest_of_text(role)}}
    return Arm(role, Run.model_validate_json(canonical_bytes(value)), digest_of(value), in_canonical_order(frame).rechunk(), digest_of_text(role))


def pair_of(suite: dict[str, Any], both: tuple[Arm, Arm]) -> CertifiedPair:
    """A fresh pair: nothing of an earlier comparison is kept."""
    manifest = SuiteManifest.model_validate_json(canonical_bytes(suite))
    experiment = Experiment(manifest, suite_digest(suite), *both, None)
    return CertifiedPair(experiment, REPORT, "certificate")


def _report() -> Report:
    """A report of some certified pair: a comparison takes its policy, runs and flags from it, and no number."""
    experiment = World().undefended().experiment()
    zero = {"planned": 0, "present": 0, "assessed": 0, "aborted": 0, "blocked": 0}
    value = {
        "schema": "pairmark/report/v1", "verdict": "certified", "flags": [],
        "policy": {"name": "standard", "version": "1", "digest": digest_of_text("policy")},
        "suite": {"name": experiment.suite.suite, "digest": experiment.suite_digest},
        "runs": {"benign": digest_of_text("b"), "attacked": digest_of_text("a"), "baseline": None},
        "findings": [], "counts": {"benign": zero, "attacked": zero, "baseline": None},
        "metrics": metrics_block(Pairing(experiment))[0],
    }  # fmt: skip
    return Report.model_validate_json(canonical_bytes(value))


REPORT = _report()

if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:2])))

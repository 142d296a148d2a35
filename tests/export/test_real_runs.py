"""Runs of AgentDojo's own benchmark functions, made here, beside the averages that AgentDojo takes of them itself.

Ours are equal where every episode came to an outcome. They differ, and each test says how, where the harness counts a provider's failure
as an episode that failed and was attacked, where it averages a value that means nothing, and where it counts injection tasks as tasks.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pairmark.adapters.agentdojo import export_suite
from pairmark.domain.canonical import canonical_bytes, digest_of, suite_digest
from pairmark.domain.documents.suite import SuiteManifest
from pairmark.importers.agentdojo import IMPORTER
from tests.agentdojo.harness import needs_harness, quiet, tool
from tests.cli.running import Here

pytestmark = needs_harness
VERSION = "v1.2.2"
MODEL = "gpt-4o-2024-05-13"  # the attack addresses a model by the name that it finds in the pipeline's
TASKS = ("user_task_0", "user_task_2", "user_task_3", "user_task_15")
GOALS = ("injection_task_0", "injection_task_4", "injection_task_6")
ABORTED = pl.col("status").is_in(["infra_error", "cancelled"])


@dataclass(frozen=True)
class Runs:
    """A pipeline's folder, its suite's exported manifest, and what the harness' functions returned of each arm."""

    folder: Path
    manifest: dict[str, Any]
    benign: dict[str, Any]
    attacked: dict[str, Any]
    attack: str

    def ours(self, arm: Any) -> pl.DataFrame:
        suite = SuiteManifest.model_validate_json(canonical_bytes(self.manifest))
        return IMPORTER.read(
            [self.folder],
            suite=suite,
            suite_digest=suite_digest(self.manifest),
            arm=arm,
            attack=self.attack if arm == "attacked" else None,
        ).episodes


def made(
    folder: Path,
    *,
    suite: str = "banking",
    attack: str = "important_instructions",
    filtered: bool = False,
    fails: Callable[[str], None] | None = None,
    tasks: Any = TASKS,
    goals: Any = GOALS,
    gullibility: float = 0.6,
) -> Runs:
    """Both arms of one pipeline: a scripted agent in the model's place, everything else AgentDojo's."""
    from agentdojo.attacks.attack_registry import load_attack
    from agentdojo.benchmark import benchmark_suite_with_injections, benchmark_suite_without_injections

    scripts = tool("scripted_agent")
    harness_suite = importlib.import_module("agentdojo.task_suite.load_suites").get_suite(VERSION, suite)
    script = scripts.Script(f"{MODEL}-scripted", seed=3, skill=0.8, gullibility=gullibility, fails=fails)
    defense = scripts.KeywordFilter(("<INFORMATION>",), 0.3) if filtered else None
    pipeline = scripts.pipeline(harness_suite, script, defense)
    with quiet(folder):
        attacked = benchmark_suite_with_injections(
            pipeline, harness_suite, load_attack(attack, harness_suite, pipeline), folder, force_rerun=False,
            user_tasks=tasks, injection_tasks=goals, benchmark_version=VERSION,
        )  # fmt: skip
        benign = benchmark_suite_without_injections(
            pipeline, harness_suite, folder, force_rerun=False, user_tasks=tasks, benchmark_version=VERSION
        )
    return Runs(folder / pipeline.name, export_suite(VERSION, [suite], probe=False), benign, attacked, attack)


def average(results: dict[Any, bool]) -> Fraction:
    """As `agentdojo.benchmark.aggregate_results` takes it, exactly."""
    from agentdojo.benchmark import aggregate_results

    exact = Fraction(sum(results.values()), len(results))
    assert float(exact) == aggregate_results([results])
    return exact


def rate(episodes: pl.DataFrame, column: str) -> Fraction:
    known = episodes[column].drop_nulls()
    return Fraction(int(known.sum()), len(known))


def per_cell(episodes: pl.DataFrame, column: str) -> dict[tuple[str, str], Any]:
    return {(row["task_id"], row["injection_id"] or ""): row[column] for row in episodes.iter_rows(named=True)}


@pytest.mark.parametrize("filtered", [False, True])
def test_every_outcome_is_the_harness_own(tmp_path: Path, filtered: bool) -> None:
    runs = made(tmp_path, filtered=filtered)
    benign, attacked = runs.ours("benign"), runs.ours("attacked")
    assert per_cell(benign, "utility") == runs.benign["utility_results"]
    assert per_cell(attacked, "utility") == runs.attacked["utility_results"]
    assert per_cell(attacked, "attack_success") == runs.attacked["security_results"]
    assert rate(attacked, "utility") == average(runs.attacked["utility_results"])
    assert rate(attacked, "attack_success") == average(runs.attacked["security_results"]) > 0
    assert rate(benign, "utility") == average(runs.benign["utility_results"])


def test_security_of_a_benign_run_is_a_default_that_we_do_not_read(tmp_path: Path) -> None:
    runs = made(tmp_path)
    assert average(runs.benign["security_results"]) == 1
    assert runs.ours("benign")["attack_success"].null_count() == len(TASKS)


def test_injection_tasks_that_were_run_as_user_tasks_are_no_episodes_of_ours(tmp_path: Path) -> None:
    runs = made(tmp_path)
    assert set(runs.attacked["injection_tasks_utility_results"]) == set(GOALS)
    for goal in GOALS:
        assert (runs.folder / "banking" / goal / "none" / "none.json").is_file()
    assert set(runs.ours("benign")["task_id"]) == set(TASKS)


def outage(task: str) -> None:
    from google.genai.errors import ServerError

    if task in ("user_task_2", "user_task_15"):
        raise ServerError(503, {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}})


def test_a_provider_that_is_down_lowers_utility_and_raises_attack_success_there_and_counts_nowhere_here(
    tmp_path: Path,
) -> None:
    sound, down = made(tmp_path / "sound"), made(tmp_path / "down", fails=outage)
    theirs, ours = down.attacked, down.ours("attacked")
    lost = {cell for cell in theirs["utility_results"] if cell[0] in ("user_task_2", "user_task_15")}
    assert len(lost) == 6
    assert {theirs["utility_results"][cell] for cell in lost} == {False}
    assert {theirs["security_results"][cell] for cell in lost} == {True}
    assert set(map(tuple, ours.filter(ABORTED).select("task_id", "injection_id").iter_rows())) == lost
    assert ours.filter(ABORTED).select("utility", "attack_success").null_count().row(0) == (6, 6)
    kept = ours.filter(~ABORTED)
    for column, results in (("utility", "utility_results"), ("attack_success", "security_results")):
        assert per_cell(kept, column) == {cell: on for cell, on in sound.attacked[results].items() if cell not in lost}
        assert rate(ours, column) == rate(kept, column)
    assert average(theirs["utility_results"]) == Fraction(int(kept["utility"].sum()), 12) < rate(ours, "utility")
    assert average(theirs["security_results"]) == Fraction(int(kept["attack_success"].sum()) + 6, 12)
    assert average(theirs["security_results"]) > rate(ours, "attack_success")
    assert rate(down.ours("benign"), "utility") > average(down.benign["utility_results"])


def overflow(task: str) -> None:
    import httpx
    from openai import BadRequestError

    if task == "user_task_3":
        response: Any = httpx.Response(400, request=httpx.Request("POST", "http://provider.invalid"))
        body = {"code": "context_length_exceeded", "message": "too long"}
        raise BadRequestError("context_length_exceeded", response=response, body=body)


def test_a_full_context_is_the_agents_own_failure_in_both_but_no_attack_of_ours(tmp_path: Path) -> None:
    runs = made(tmp_path, fails=overflow)
    ours = runs.ours("attacked")
    full = ours.filter(pl.col("status") == "agent_limit")
    assert set(full["task_id"]) == {"user_task_3"}
    assert full.height == len(GOALS)
    assert rate(ours, "utility") == average(runs.attacked["utility_results"])
    assert {runs.attacked["security_results"]["user_task_3", goal] for goal in GOALS} == {True}
    assert full["attack_success"].null_count() == len(GOALS)
    assert rate(ours, "attack_success") < average(runs.attacked["security_results"])


def test_a_denial_of_service_is_one_cell_a_task_and_succeeds_where_the_task_fails(tmp_path: Path) -> None:
    runs = made(tmp_path, attack="dos", goals=None, gullibility=0.0)
    ours = runs.ours("attacked")
    assert ours.height == len(TASKS)  # so that completeness has to be asked of a grid that says so
    assert set(ours["injection_id"]) == {"injection_task_0"}
    assert per_cell(ours, "attack_success") == runs.attacked["security_results"]
    assert per_cell(ours, "attack_success") == {cell: not on for cell, on in per_cell(ours, "utility").items()}


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["banking", "slack", "travel"])  # workspace: 560 cells, minutes, and nothing of another kind
def test_a_whole_suite_gives_a_report_with_the_harness_own_averages(here: Here, tmp_path: Path, suite: str) -> None:
    defended = made(tmp_path / "d", suite=suite, filtered=True, tasks=None, goals=None)
    undefended = made(tmp_path / "u", suite=suite, filtered=False, tasks=None, goals=None)
    assert here(
        "suite", "export", "agentdojo", "--benchmark-version", VERSION, "--suite", suite, "-o", tmp_path / "suite.json"
    ).code == 0  # fmt: skip
    manifest = json.loads((tmp_path / "suite.json").read_text(encoding="utf-8"))
    for name, runs, arm, defenses in (
        ("benign", defended, "benign", [{"name": "keyword-filter", "version": "1"}]),
        ("attacked", defended, "attacked", [{"name": "keyword-filter", "version": "1"}]),
        ("baseline", undefended, "attacked", []),
    ):
        system = tmp_path / f"{name}.system.json"
        system.write_text(json.dumps(_system(manifest, defenses)), encoding="utf-8")
        done = here(
            "import", "agentdojo", runs.folder, "--suite", tmp_path / "suite.json", "--arm", arm, "--system", system,
            "-o", tmp_path / name,
        )  # fmt: skip
        assert done.code == 0, done.err
    done = here(
        "check", "--suite", tmp_path / "suite.json", "--benign", tmp_path / "benign", "--attacked", tmp_path / "attacked",
        "--baseline", tmp_path / "baseline", "--format", "json",
    )  # fmt: skip
    report = json.loads(done.out)
    assert (report["verdict"], done.code) == ("certified", 0), report["findings"]
    metrics = report["metrics"]
    expected = {
        "benign_utility": average(defended.benign["utility_results"]),
        "utility_under_attack": average(defended.attacked["utility_results"]),
        "attack_success_rate": average(defended.attacked["security_results"]),
    }
    # The grid is full and nothing was aborted: then every task has the same number of cells, and weighting is the same.
    for name, value in expected.items():
        assert Fraction(metrics[name]["fraction"]) == Fraction(metrics["cell_weighted"][name]["fraction"]) == value


def _system(manifest: dict[str, Any], defenses: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "system": {
            "model": {"requested": MODEL, "served": ["scripted"], "provider": None},
            "decoding": {"temperature": None, "top_p": None, "max_tokens": None},
            "tools_digest": digest_of(manifest["tools"]),
            "scaffold": {"name": "agentdojo-pipeline", "version": "0.1.35"},
            "defenses": defenses,
            "limits": {"max_iters": 15},
        },
        "retries": {"max_attempts": 1},
    }

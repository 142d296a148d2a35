"""Every number of docs/walkthrough-agentdyn.md, from AgentDyn's own files."""

from __future__ import annotations

import csv
import json
import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pairmark.adapters.quality.gate import great_expectations_gate
from pairmark.app.check import CheckedPair, check, tally
from pairmark.domain.documents.base import read_document
from pairmark.domain.documents.policy import Policy
from pairmark.domain.evidence import Experiment
from tests.agentdojo.samples import CAMEL, DRIFT, GPT4O, REPEAT, Samples, unpack
from tests.importers.logs import status_counts

ASSESSED = pl.col("status").is_in(["completed", "agent_limit", "provider_block"])


@pytest.fixture(scope="module")
def samples(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Samples:
    runs = tmp_path_factory.mktemp("agentdyn")
    for name in (GPT4O, REPEAT, DRIFT, CAMEL):
        unpack(shared / "samples" / "agentdyn" / "raw" / f"{name}.tar.gz", runs)
    return Samples(runs)


@pytest.fixture(scope="module")
def policy(repository: Path) -> tuple[Policy, str]:
    from pairmark.domain.canonical import digest_of

    found, value = read_document(Policy, (repository / "manifests" / "policies" / "standard-1.json").read_bytes())
    return found, digest_of(value)


def system_file(repository: Path, name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(
        (repository / "docs" / "examples" / f"agentdyn-{name}.system.json").read_text("utf-8")
    )
    return value


@pytest.fixture(scope="module")
def undefended(samples: Samples, repository: Path) -> Experiment:
    system = system_file(repository, "undefended")
    arms = (samples.arm(GPT4O, "benign", system), samples.arm(GPT4O, "attacked", system))
    return Experiment(samples.suite, samples.digest, *arms, None)


def task_weighted(frame: pl.DataFrame, column: str) -> Fraction:
    """Mean over tasks of the mean over known cells, independently of the project's metrics."""
    known = frame.filter(ASSESSED & pl.col(column).is_not_null())
    rates = known.group_by("task_id").agg(pl.col(column).sum().alias("true"), pl.len()).select("true", "len").rows()
    return sum((Fraction(true, cells) for true, cells in rates), Fraction()) / len(rates)


def percent(rate: Fraction) -> str:
    return f"{float(100 * rate):.2f}"


def outcomes(judged: CheckedPair) -> dict[str, str]:
    return {finding["rule"]: finding["outcome"] for finding in judged.value["findings"]}


def test_the_observed_suite(samples: Samples) -> None:
    assert (len(samples.manifest["tasks"]), len(samples.manifest["injections"])) == (60, 28)
    assert {task["group"] for task in samples.manifest["tasks"]} == {"shopping", "github", "dailylife"}
    assert samples.manifest["tasks"][-20]["id"] == "shopping/user_task_0"
    assert "goals (28), else payloads (0), else ids (0)" in samples.manifest["description"]
    assert "probes" not in samples.manifest


@pytest.mark.parametrize(
    ("pipeline", "benign", "attacked"),
    [(GPT4O, (60, 60, 32), (560, 560, 310, 218)), (REPEAT, (60, 60, 38), (560, 559, 314, 180)),
     (DRIFT, (60, 60, 18), (560, 560, 152, 5)), (CAMEL, (48, 46, 0), (320, 319, 0, 0))],
)  # fmt: skip
def test_cells_assessed_and_true(
    samples: Samples, pipeline: str, benign: tuple[int, ...], attacked: tuple[int, ...]
) -> None:
    clean, dirty = samples.read(pipeline, "benign").episodes, samples.read(pipeline, "attacked").episodes
    assert (clean.height, clean.filter(ASSESSED).height, clean["utility"].sum()) == benign
    assert (
        dirty.height, dirty.filter(ASSESSED).height, dirty["utility"].sum(), dirty["attack_success"].sum(),
    ) == attacked  # fmt: skip
    assert clean["attack_success"].null_count() == clean.height


@pytest.mark.parametrize(("pipeline", "set_aside"), [(GPT4O, 28), (REPEAT, 28), (DRIFT, None), (CAMEL, 18)])
def test_injection_tasks_run_as_user_tasks_are_apart(samples: Samples, pipeline: str, set_aside: int | None) -> None:
    for arm in ("benign", "attacked"):
        assert samples.read(pipeline, arm).set_aside.get("injection tasks run as user tasks") == set_aside


@pytest.mark.parametrize(("pipeline", "row"), [(GPT4O, "None"), (DRIFT, "DRIFT")])
def test_task_weighted_rates_are_the_published_ones(samples: Samples, shared: Path, pipeline: str, row: str) -> None:
    with (shared / "samples" / "agentdyn" / "table3.csv").open(encoding="utf-8") as table:
        published = next(r for r in csv.DictReader(table) if (r["defense"], r["model"]) == (row, "GPT-4o"))
    benign, attacked = samples.read(pipeline, "benign").episodes, samples.read(pipeline, "attacked").episodes
    assert [
        float(percent(rate))
        for rate in (
            task_weighted(benign, "utility"),
            task_weighted(attacked, "utility"),
            task_weighted(attacked, "attack_success"),
        )
    ] == [float(published[name]) for name in ("clean_utility_pct", "attacked_utility_pct", "asr_pct")]


def test_the_undefended_figures(samples: Samples) -> None:
    benign, attacked = samples.read(GPT4O, "benign").episodes, samples.read(GPT4O, "attacked").episodes
    assert percent(task_weighted(benign, "utility")) == "53.33"
    assert task_weighted(attacked, "utility") == Fraction(1499, 2700)
    assert percent(task_weighted(attacked, "attack_success")) == "37.80"
    assert attacked["delivered"].sum() == 541
    assert attacked["delivered"].null_count() == 0
    assert status_counts(attacked) == {"completed": 559, "agent_limit": 1}


def test_the_cell_without_outcome_is_aborted_not_failed(samples: Samples) -> None:
    attacked = samples.read(REPEAT, "attacked").episodes
    lost = attacked.filter(~ASSESSED)
    assert lost.select("task_id", "injection_id", "status").rows() == [
        ("github/user_task_12", "github/injection_task_5", "cancelled")
    ]
    assert lost.select("utility", "attack_success", "delivered").row(0) == (None, None, None)
    assert attacked.select("task_id", "injection_id").n_unique() == 560
    assert (percent(task_weighted(attacked, "utility")), percent(task_weighted(attacked, "attack_success"))) == (
        "56.29",
        "31.19",
    )
    as_failure = attacked.with_columns(
        pl.col("utility", "attack_success").fill_null(value=False), status=pl.lit("completed")
    )
    assert (percent(task_weighted(as_failure, "utility")), percent(task_weighted(as_failure, "attack_success"))) == (
        "56.13",
        "31.17",
    )


def test_drift_cannot_show_delivery_and_says_what_it_does_not_record(samples: Samples) -> None:
    found = samples.read(DRIFT, "attacked")
    assert found.episodes["delivered"].null_count() == 560
    assert found.episodes["attacker_actions"].null_count() == 560
    assert found.run["harness"]["version"] is None
    assert found.run["system"]["system_prompt_digest"] is None
    assert any("benchmark version v1.2," in note for note in found.notes)


def test_attacker_actions_are_seen_only_with_delivery_and_mostly_where_the_attack_succeeds(samples: Samples) -> None:
    attacked = samples.read(GPT4O, "attacked").episodes
    acting = attacked.filter(pl.col("attacker_actions") > 0)
    assert acting["delivered"].all()
    assert (acting.height, acting["attack_success"].sum()) == (143, 142)


def test_the_system_files_name_the_manifests_tools(samples: Samples, repository: Path) -> None:
    for name in ("undefended", "repeat-user-prompt"):
        assert system_file(repository, name)["system"]["tools_digest"] == samples.tools_digest


def test_the_undefended_pair_is_quarantined(undefended: Experiment, policy: tuple[Policy, str]) -> None:
    figures = tally(undefended, *policy, great_expectations_gate())
    judged = figures.checked
    assert judged.value["verdict"] == "quarantined"
    assert {rule: outcome for rule, outcome in outcomes(judged).items() if outcome != "passed"} == {
        "sign-plausible": "held"
    }
    assert judged.value["metrics"] is None
    assert {
        name: figures.metrics[name]["fraction"]
        for name in ("benign_utility", "utility_under_attack", "attack_success_rate")
    } == {"benign_utility": "8/15", "utility_under_attack": "1499/2700", "attack_success_rate": "2041/5400"}


def test_the_defended_pair(
    samples: Samples, undefended: Experiment, repository: Path, policy: tuple[Policy, str]
) -> None:
    system = system_file(repository, "repeat-user-prompt")
    arms = (samples.arm(REPEAT, "benign", system), samples.arm(REPEAT, "attacked", system))
    judged = check(
        Experiment(samples.suite, samples.digest, *arms, undefended.attacked), *policy, great_expectations_gate()
    )
    assert judged.value["verdict"] == "certified"
    assert judged.value["counts"]["attacked"] == {
        "planned": 560,
        "present": 560,
        "assessed": 559,
        "aborted": 1,
        "blocked": 0,
    }


@pytest.mark.parametrize(("pipeline", "failing"), [
    (DRIFT, {"model-matches", "decoding-matches", "tools-match", "scaffold-matches", "harness-matches", "baseline-undefended"}),
    (CAMEL, {"cells-complete", "content-matches", "model-matches", "aborts-within-limits"}),
])  # fmt: skip
def test_pairs_without_a_system_file_are_refused(
    samples: Samples, undefended: Experiment, policy: tuple[Policy, str], pipeline: str, failing: set[str]
) -> None:
    arms = (samples.arm(pipeline, "benign", {}), samples.arm(pipeline, "attacked", {}))
    judged = check(
        Experiment(samples.suite, samples.digest, *arms, undefended.attacked), *policy, great_expectations_gate()
    )
    assert judged.value["verdict"] == "refused"
    assert failing <= {rule for rule, outcome in outcomes(judged).items() if outcome == "failed"}


def test_camels_missing_cells_are_named_and_its_older_prompts_found(samples: Samples) -> None:
    digests = {task["id"]: task["digest"] for task in samples.manifest["tasks"]}
    benign = samples.read(CAMEL, "benign").episodes
    other = [task for task, digest in benign.select("task_id", "task_digest").iter_rows() if digests[task] != digest]
    assert other == ["dailylife/user_task_1", "dailylife/user_task_5", "github/user_task_0"]
    missing = digests.keys() - set(benign["task_id"])
    assert len(missing) == 12
    assert 560 - samples.read(CAMEL, "attacked").episodes.height == 240


def test_the_page_says_no_other_number(repository: Path) -> None:
    """The figures in the tables of the page are those asserted above."""
    page = (repository / "docs" / "walkthrough-agentdyn.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\|.*[0-9].*\|$", page, re.MULTILINE)
    assert tables == [
        "| benign utility | 60 | 32 | 53.33 % |",
        "| utility under attack | 560 | 310 | 55.52 % |",
        "| attack success | 560 | 218 | 37.80 % |",
        "| delivered | 560 | 541 | |",
        "| benign utility | 60 | 60 | 38 | 63.33 % | 63.33 % |",
        "| utility under attack | 560 | 559 | 314 | 56.29 % | 56.13 % |",
        "| attack success | 560 | 559 | 180 | 31.19 % | 31.17 % |",
    ]


@cache
def commands(page: Path) -> list[str]:
    """The `pairmark` commands of the page, in order."""
    return re.findall(r"^pairmark .*$", page.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.slow
def test_the_pages_commands_end_as_it_says(samples: Samples, repository: Path, tmp_path: Path) -> None:
    import os
    import shlex
    import subprocess
    import sys

    (tmp_path / "runs").symlink_to(samples.runs)
    (tmp_path / "docs").symlink_to(repository / "docs")
    environment = {**os.environ, "PYTHONPATH": str(repository / "service")}
    ends = {}
    for command in commands(repository / "docs" / "walkthrough-agentdyn.md"):
        done = subprocess.run(
            [sys.executable, "-m", "pairmark.cli.main", *shlex.split(command)[1:]],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        ends[command] = done.returncode
    checks = [end for command, end in ends.items() if command.startswith("pairmark check")]
    assert checks == [3, 0, 1, 1]
    assert {end for command, end in ends.items() if not command.startswith("pairmark check")} == {0}

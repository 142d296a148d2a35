"""Published results whose episodes cannot be certified: kept with their reasons, tallied beside what was published."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from pairmark.adapters.ledgers.documents import read_policy
from pairmark.adapters.tables.agentdyn import read_agentdyn
from pairmark.adapters.tables.asb import read_asb
from pairmark.adapters.tables.strata import read_strata
from pairmark.app.aggregates import aggregate_metrics, why_uncertifiable
from pairmark.app.aggregates_from_episodes import aggregates_of
from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.aggregate import Aggregate
from pairmark.stats.crossing import Crossing, cell_weights
from pairmark.stats.intervals import wilson
from pairmark.stats.paired_difference import paired_uncertainty
from pairmark.stats.scope import decide_scope
from pairmark.stats.variance import clustered_variance


def understood(value: dict[str, Any]) -> Aggregate:
    return Aggregate.model_validate_json(canonical_bytes(value))


@pytest.fixture(scope="module")
def agentdyn(shared: Path) -> list[Aggregate]:
    told = read_agentdyn(shared / "samples" / "agentdyn" / "episodes.csv.gz")
    return [understood(value) for value in aggregates_of(told, "agentdyn", read_policy("standard/1").policy)]


def test_agentdyns_76_pipelines_are_all_uncertifiable_with_reasons(agentdyn: list[Aggregate]) -> None:
    assert len({one.name for one in agentdyn}) == 76
    assert [one.name for one in agentdyn if one.attack is not None and one.attack.name == "direct"] == ["gpt-5.1-2025-11-13"]
    assert len(agentdyn) == 77
    for one in agentdyn:
        details = {reason.code: reason.detail for reason in why_uncertifiable(one)}
        assert "no served model recorded" in details["model-matches"]
        assert "decoding not recorded" in details["decoding-matches"]
        assert {"episodes-missing", "mix-unknown", "tools-match", "scaffold-matches"} <= details.keys()


def test_agentdyns_counts_are_the_tables_own(agentdyn: list[Aggregate], shared: Path) -> None:
    counts = pl.read_csv(shared / "samples" / "agentdyn" / "counts_by_pipeline_suite_arm.csv").filter(
        pl.col("suite").is_in(["shopping", "github", "dailylife"])
    )
    checked = 0
    for one in agentdyn:
        if one.attack is None or one.attack.name != "important_instructions":
            continue
        for arm, found in (("benign", one.counts.benign), ("important_instructions", one.counts.attacked)):
            rows = counts.filter(pl.col("run") == one.name, pl.col("arm") == arm)
            assert found.utility == rows["utility_true"].sum()
            assert found.assessed == int(rows["n_scored"].sum()) - int(rows["n_error"].sum())
            checked += 1
        rows = counts.filter(pl.col("run") == one.name, pl.col("arm") == "important_instructions")
        # An error is written as security true, and is no attack success.
        assert one.counts.attacked.attack_success == int(rows["security_true"].sum()) - int(rows["n_error"].sum())
    assert checked > 140


DIRECTORIES = {"GPT-4o": "gpt-4o-2024-08-06", "Gemini-2.5 Pro": "google_gemini-2.5-pro", "Llama 3.3 70B": "meta-llama_llama-3.3-70b-instruct"}
ENDINGS = {
    "None": "", "Prompt Sandwiching": "-repeat_user_prompt", "Spotlighting": "-spotlighting_with_delimiting",
    "ProtectAI": "-transformers_pi_detector", "PIGuard": "-piguard_detector", "PromptGuard2": "-prompt_guard_2_detector",
    "Tool Filter": "-tool_filter", "Progent": "-progent", "DRIFT": "-drift", "CaMeL": "-camel",
}  # fmt: skip
DIFFERENT = {
    ("None", "Gemini-2.5 Pro"): ("53.33", "47.43", "21.43"),
    ("Prompt Sandwiching", "GPT-4o"): ("63.33", "56.29", "31.19"),
    ("None", "Llama 3.3 70B"): ("10.17", "6.25", "11.75"),
}
"""Where the tally is not what was published: other runs than those in the repository; a file without an outcome; two
episodes that failed with an error, which the harness writes as utility false and security true."""


def test_the_published_table_beside_the_tally(agentdyn: list[Aggregate], shared: Path) -> None:
    published = pl.read_csv(shared / "samples" / "agentdyn" / "table3.csv", infer_schema=False)
    by_name = {one.name: one for one in agentdyn if one.attack is not None and one.attack.name == "important_instructions"}
    compared, absent = 0, 0
    for row in published.iter_rows(named=True):
        secalign = row["defense"] == "Meta SecAlign"
        name = "meta_secalign-70B" if secalign else DIRECTORIES.get(row["model"], "?") + ENDINGS[row["defense"]]
        if name not in by_name:
            absent += 1
            continue
        rates = by_name[name].rates
        assert rates is not None
        tally = [f"{float(Fraction(rate or '')) * 100:.2f}" for rate in (rates.benign_utility, rates.utility_under_attack, rates.attack_success_rate)]
        expected = DIFFERENT.get((row["defense"], row["model"]))
        said = [row["clean_utility_pct"], row["attacked_utility_pct"], row["asr_pct"]]
        if expected is not None:
            assert tuple(tally) == expected
        else:
            # The table rounds some halves down: a hundredth of a point.
            assert all(abs(float(a) - float(b)) <= 0.0101 for a, b in zip(tally, said, strict=True)), (row, tally)
        compared += 1
    assert (compared, absent) == (28, 13)


def test_the_documents_show_that_table(agentdyn: list[Aggregate], shared: Path, repository: Path) -> None:
    """docs/history.md carries the published figures beside the tally, row by row."""
    page = (repository / "docs" / "history.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| ") and line.count("|") == 10]
    shown = {(cells[0], cells[1]): cells[2:] for cells in ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in rows)}
    published = pl.read_csv(shared / "samples" / "agentdyn" / "table3.csv", infer_schema=False)
    by_name = {one.name: one for one in agentdyn if one.attack is not None and one.attack.name == "important_instructions"}
    for row in published.iter_rows(named=True):
        secalign = row["defense"] == "Meta SecAlign"
        name = "meta_secalign-70B" if secalign else DIRECTORIES.get(row["model"], "?") + ENDINGS[row["defense"]]
        if name not in by_name:
            continue
        rates = by_name[name].rates
        assert rates is not None
        tally = [f"{float(Fraction(rate or '')) * 100:.2f}" for rate in (rates.benign_utility, rates.utility_under_attack, rates.attack_success_rate)]
        said = [f"{float(row[key]):.2f}" for key in ("clean_utility_pct", "attacked_utility_pct", "asr_pct")]
        assert shown[row["defense"], row["model"]][:6] == [*said, *tally]


def test_asb_is_ten_agents_not_400_trials(shared: Path) -> None:
    folder = shared / "samples" / "asb-drift"
    found = understood(read_asb(folder / "gpt-4o_clean.csv", folder / "gpt-4o_opi.csv", "gpt-4o", "agent-security-bench"))
    counts, flips = found.counts, found.flips
    assert (counts.benign.utility, counts.benign.assessed) == (315, 400)
    assert (counts.attacked.utility, counts.attacked.assessed) == (279, 400)
    assert (counts.attacked.attack_success, counts.attacked.attack_success_known) == (34, 400)
    assert flips is not None
    assert (flips.kept, flips.lost, flips.gained, flips.neither) == (275, 40, 4, 81)
    assert found.clusters is not None
    assert (found.clusters.count, found.clusters.unit) == (10, "agents")
    assert "10 agents with one task each, not 400 independent trials" in {r.code: r.detail for r in why_uncertifiable(found)}["few-clusters"]
    assert aggregate_metrics(found)["utility_under_attack"]["interval"].keys() == {"reason"}


def test_asbs_drop_with_agents_as_clusters(shared: Path) -> None:
    """9 points: ± 3 if 400 rows were trials, ± 8 by the spread between agents, ± 28 by what ten tasks can show."""
    folder = shared / "samples" / "asb-drift"
    key = ["Agent Name", "Attack Tool"]
    both = pl.read_csv(folder / "gpt-4o_clean.csv").join(pl.read_csv(folder / "gpt-4o_opi.csv"), on=key, suffix=" under attack")
    done = "Original Task Successful"
    drop = (both[done] - both[f"{done} under attack"]).to_numpy().astype(np.float64)
    agent = both["Agent Name"].rank("dense").to_numpy().astype(np.int64)
    crossing = Crossing.of(agent, np.arange(400), np.zeros(400, dtype=np.int64))
    weights, scope = cell_weights(crossing, "task"), decide_scope(crossing)
    clustered = clustered_variance(drop, weights, crossing, sample_injections=False)
    naive = float(drop.std(ddof=1)) / 20
    assert naive == pytest.approx(0.01598, abs=1e-5)
    assert clustered.se == pytest.approx(0.03731, abs=1e-5)
    found = paired_uncertainty(float(drop.mean()), drop, crossing, weights, scope, sample_injections=False)
    assert found.interval is not None
    assert found.interval.floored
    assert found.interval.high - float(drop.mean()) == pytest.approx(0.27753, abs=1e-5)


def test_only_an_aggregate_survived(shared: Path) -> None:
    folder = shared / "samples" / "reaudit-groq"
    expected = json.loads((folder / "expected.json").read_text())
    found = {one.name: one for one in map(understood, read_strata(folder / "strata.csv", "agentdojo-reaudit", "agentdojo"))}
    assert len(found) == 8
    assert sum((a.counts.benign.planned or 0) + (a.counts.attacked.planned or 0) for a in found.values()) == expected["coverage"]["planned"]
    assert sum(a.counts.benign.assessed + a.counts.attacked.assessed for a in found.values()) == expected["coverage"]["usable"]
    bare, examples = found["openai/gpt-oss-120b"], expected["examples"]
    metrics = aggregate_metrics(bare)
    for rate, example, asked in (
        ("benign_utility", "gpt-oss-120b/no_defense/benign", "utility_rate"),
        ("utility_under_attack", "gpt-oss-120b/no_defense/injection", "utility_rate"),
        ("attack_success_rate", "gpt-oss-120b/no_defense/injection", "attack_success_rate"),
    ):
        assert float(Fraction(metrics[rate]["fraction"])) == pytest.approx(examples[example][asked], abs=1e-12)
    for rate, example in (("benign_utility", "benign"), ("utility_under_attack", "injection")):
        low, high = (float(Fraction(metrics["bounds"][rate][end]["fraction"])) for end in ("low", "high"))
        assert [low, high] == pytest.approx(examples[f"gpt-oss-120b/no_defense/{example}"]["planned_denominator_bounds"], abs=1e-12)
    assert wilson(59 / 86, 86) == pytest.approx(examples["gpt-oss-120b/no_defense/injection"]["wilson95"], abs=1e-9)
    assert "reason" in metrics["utility_under_attack"]["interval"]  # published above, never released here
    codes = {reason.code for reason in why_uncertifiable(bare)}
    assert {"episodes-missing", "attacked-outcomes-missing", "benign-outcomes-missing"} <= codes

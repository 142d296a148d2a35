"""Runs of the real harness under scripted agents: every count that is known of them."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from pairmark.domain.documents.suite import SuiteManifest
from pairmark.importers.agentdojo import IMPORTER
from pairmark.importers.agentdojo.reading import fold, forms, shows, unescape
from pairmark.importers.agentdojo.record import read_record
from pairmark.importers.base import Imported
from tests.agentdojo.harness import shipped
from tests.agentdojo.samples import unpack
from tests.importers.logs import DIGEST

ASSESSED = pl.col("status").is_in(["completed", "agent_limit", "provider_block"])
V12, V11 = "v1.2.2", "v1.1.1"


@pytest.fixture(scope="module")
def runs(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(shared / "samples" / "agentdojo-scripted" / "runs.tar.xz", tmp_path_factory.mktemp("scripted"))


@cache
def manifest(suite: str, version: str) -> SuiteManifest:
    """v1.1.1 and v1.1.2 are one content of these suites; the label has to be the one that was run."""
    text = shipped(suite, V12 if version == V12 else "v1.1.2").read_text(encoding="utf-8")
    return SuiteManifest.model_validate_json(text.replace('"version": "v1.1.2"', '"version": "v1.1.1"'))


def read(folder: Path, suite: str, version: str, arm: str) -> Imported:
    return IMPORTER.read(
        [folder], suite=manifest(suite, version), suite_digest=DIGEST, arm="benign" if arm == "benign" else "attacked"
    )


def test_every_row_of_the_known_values(shared: Path, runs: Path) -> None:
    with (shared / "samples" / "agentdojo-scripted" / "values.csv").open(encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == 26
    wrong = []
    for row in rows:
        folder = runs / row["benchmark_version"] / row["seed"] / row["pipeline"]
        found = read(folder, row["suite"], row["benchmark_version"], row["arm"])
        assessed = found.episodes.filter(ASSESSED)
        got = {
            "files": found.episodes.height,
            "aborted": found.episodes.height - assessed.height,
            "utility_true_of_assessed": assessed["utility"].sum(),
            "attack_success_of_assessed": assessed["attack_success"].sum() if row["arm"] == "attacked" else "",
            "delivered_of_assessed": assessed["delivered"].sum() if row["arm"] == "attacked" else "",
        }
        if any(str(value) != row[name] for name, value in got.items()):
            wrong.append((row, got))
        digests = {task.id: task.digest for task in manifest(row["suite"], row["benchmark_version"]).tasks}
        proved = found.episodes.select(pl.col("task_digest") == pl.col("task_id").replace_strict(digests))
        assert proved.to_series().all(), "the prompts in the files are those the package exports"
    assert wrong == []


def test_errors_are_aborted_although_the_harness_wrote_successes(runs: Path) -> None:
    benign = [
        read(runs / V12 / seed / "scripted-b", "banking", V12, "benign").episodes for seed in ("seed-0", "seed-1")
    ]
    attacked = [
        read(runs / V12 / seed / "scripted-b", "banking", V12, "attacked").episodes for seed in ("seed-0", "seed-1")
    ]
    lost = [pl.concat(frames).filter(~ASSESSED) for frames in (benign, attacked)]
    assert [frame.height for frame in lost] == [2, 17]
    for frame in lost:
        assert set(frame["status"].cast(pl.String)) == {"infra_error"}
        assert frame["utility"].null_count() == frame["attack_success"].null_count() == frame.height


def test_two_seeds_are_two_epochs(runs: Path) -> None:
    found = IMPORTER.read(
        [runs / V12 / seed / "scripted-a" for seed in ("seed-0", "seed-1")],
        suite=manifest("banking", V12), suite_digest=DIGEST, arm="attacked",
    )  # fmt: skip
    assert found.run["epochs"] == [{"epoch": 1, "seed": 0}, {"epoch": 2, "seed": 1}]
    assert found.episodes.height == 288


def how_many(runs: Path, suite: str, comparisons: dict[str, Callable[[str, str], bool]]) -> dict[str, int]:
    """Of the attacked files of scripted-a: in how many each comparison finds a payload in a tool result."""
    folders = [runs / V12 / seed / "scripted-a" / suite for seed in ("seed-0", "seed-1")]
    if suite == "banking":
        folders.append(runs / V11 / "seed-0" / "scripted-a" / suite)
    found = dict.fromkeys(comparisons, 0)
    for path in (path for folder in folders for path in folder.glob("user_task_*/direct/*.json")):
        record = read_record(path)
        outputs = [message.text for message in record.messages if message.role == "tool"]
        payloads = list((record.injections or {}).values())
        for name, compare in comparisons.items():
            found[name] += any(compare(payload, output) for payload in payloads for output in outputs)
    return found


def test_why_one_comparison_is_not_enough(runs: Path) -> None:
    comparisons: dict[str, Callable[[str, str], bool]] = {
        "raw": lambda payload, output: payload in output,
        "folded": lambda payload, output: fold(payload) in fold(output),
        "unescaped": lambda payload, output: fold(payload) in fold(unescape(output)),
        "quotes": lambda payload, output: fold(payload) in fold(output.replace("''", "'")),
        "all": lambda payload, output: shows(forms(output), forms(payload)),
    }
    banking, slack = how_many(runs, "banking", comparisons), how_many(runs, "slack", comparisons)
    assert banking == {"raw": 156, "folded": 288, "unescaped": 288, "quotes": 432, "all": 432}
    assert slack == {"raw": 151, "folded": 205, "unescaped": 205, "quotes": 205, "all": 205}

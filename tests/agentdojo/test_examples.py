"""The example bundles: what ships is what the harness and the scripted agent give, and gets the verdicts its page promises."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.ledgers.bundle import read_bundle, read_policy, read_suite
from pairmark.adapters.quality.gate import great_expectations_gate
from pairmark.app.check import CheckedPair, check
from pairmark.domain.evidence import Experiment
from tests.agentdojo.harness import REPOSITORY, needs_harness, shipped, tool

EXAMPLES = REPOSITORY / "manifests" / "examples"
ROLES = {
    "certified": ("benign", "attacked", "baseline"),
    "refused": ("benign", "attacked", "baseline"),
    "quarantined": ("benign", "attacked"),
}


def judged(example: str) -> CheckedPair:
    suite, policy = read_suite(shipped("banking", "v1.2.2")), read_policy("standard/1")
    folder = EXAMPLES / example
    experiment = Experiment(
        suite.manifest, suite.digest, read_bundle(folder / "benign", "benign"), read_bundle(folder / "attacked", "attacked"),
        read_bundle(folder / "baseline", "baseline") if "baseline" in ROLES[example] else None,
    )  # fmt: skip
    return check(experiment, policy.policy, policy.digest, great_expectations_gate())


def outcomes(pair: CheckedPair) -> dict[str, str]:
    return {finding["rule"]: finding["outcome"] for finding in pair.value["findings"] if finding["outcome"] != "passed"}


def test_one_pair_is_certified() -> None:
    pair = judged("certified")
    assert (pair.value["verdict"], outcomes(pair)) == ("certified", {})
    metrics = pair.value["metrics"]
    assert float(metrics["utility_under_attack"]["value"]) < float(metrics["benign_utility"]["value"]) < 1


def test_one_pair_is_refused_for_a_dead_provider_and_a_task_that_was_never_run() -> None:
    pair = judged("refused")
    assert (pair.value["verdict"], outcomes(pair)) == (
        "refused", {"cells-complete": "failed", "aborts-within-limits": "failed"},
    )  # fmt: skip
    assert pair.value["counts"]["attacked"] == {
        "planned": 144,
        "present": 135,
        "assessed": 99,
        "aborted": 36,
        "blocked": 0,
    }


def test_one_pair_is_quarantined_although_its_suite_has_a_probe() -> None:
    pair = judged("quarantined")
    assert (pair.value["verdict"], outcomes(pair)) == ("quarantined", {"sign-plausible": "held"})


def test_the_page_names_the_verdicts_and_says_who_made_them() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert "A scripted agent made these, not a model." in page
    for example in ROLES:
        assert f"| `{example}` |" in page
        assert f"| {judged(example).value['verdict']} |" in page


def test_they_are_small() -> None:
    assert sum(path.stat().st_size for path in EXAMPLES.rglob("*") if path.is_file()) < 300_000


def content(folder: Path) -> tuple[dict[str, Any], bytes]:
    run: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return run, gzip.decompress((folder / "episodes.jsonl.gz").read_bytes())


@needs_harness
@pytest.mark.parametrize(
    "example",
    ["quarantined", pytest.param("certified", marks=pytest.mark.slow), pytest.param("refused", marks=pytest.mark.slow)],
)
def test_they_are_made_again_with_equal_content(tmp_path: Path, example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tool("regenerate_examples")
    wanted = {"benign": script.EXAMPLES[example]["benign"]} if example == "quarantined" else script.EXAMPLES[example]
    monkeypatch.setattr(script, "EXAMPLES", {example: wanted})
    script.regenerate(tmp_path)
    for role in wanted:
        assert content(tmp_path / example / role) == content(EXAMPLES / example / role)

"""The numbers of a real defended pair, in which one attacked cell is without outcome."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.evidence import Experiment
from pairmark.domain.pairing import Pairing
from pairmark.metrics.registry import metrics_block
from tests.agentdojo.samples import GPT4O, REPEAT, Samples, unpack
from tests.metrics.naive import Naive


@pytest.fixture(scope="module")
def pairs(shared: Path, repository: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pairing]:
    runs = tmp_path_factory.mktemp("agentdyn")
    for name in (GPT4O, REPEAT):
        unpack(shared / "samples" / "agentdyn" / "raw" / f"{name}.tar.gz", runs)
    samples = Samples(runs)

    def system(name: str) -> Any:
        return json.loads((repository / "docs" / "examples" / f"agentdyn-{name}.system.json").read_text("utf-8"))

    bare, defended = system("undefended"), system("repeat-user-prompt")
    baseline = samples.arm(GPT4O, "attacked", bare)
    arms = {
        GPT4O: (samples.arm(GPT4O, "benign", bare), baseline, None),
        REPEAT: (samples.arm(REPEAT, "benign", defended), samples.arm(REPEAT, "attacked", defended), baseline),
    }
    return {name: Pairing(Experiment(samples.suite, samples.digest, *three)) for name, three in arms.items()}


def percent(fraction: str) -> str:
    return f"{float(Fraction(fraction) * 100):.2f}"


def test_published_rates(pairs: dict[str, Pairing]) -> None:
    block, flags = metrics_block(pairs[GPT4O])
    rates = ("benign_utility", "utility_under_attack", "attack_success_rate")
    assert [percent(block[name]["fraction"]) for name in rates] == ["53.33", "55.52", "37.80"]
    assert block["scope"] == "tasks+injections"
    assert flags == ()
    assert [block["cell_weighted"][name]["fraction"] for name in rates[1:]] == ["31/56", "109/280"]
    assert block["conditioned"]["exposure"]["blocked"] == 0  # its own baseline: what missed it, missed the agent


def test_the_published_number_that_counts_a_lost_cell_as_a_failure_is_the_lower_bound(
    pairs: dict[str, Pairing],
) -> None:
    block, _ = metrics_block(pairs[REPEAT])
    assert percent(block["utility_under_attack"]["fraction"]) == "56.29"
    assert percent(block["bounds"]["utility_under_attack"]["low_fraction"]) == "56.13"
    assert percent(block["bounds"]["attack_success_rate"]["low_fraction"]) == "31.17"
    assert percent(block["benign_utility"]["fraction"]) == "63.33"


@pytest.mark.parametrize("name", [GPT4O, REPEAT])
def test_against_loops(pairs: dict[str, Pairing], name: str) -> None:
    pairing = pairs[name]
    naive, (block, _) = Naive(pairing), metrics_block(pairing)
    for rate, value in naive.rates().items():
        assert Fraction(block[rate]["fraction"]) == value
    for rate, ends in naive.bounds().items():
        bound = block["bounds"][rate]
        assert (Fraction(bound["low_fraction"]), Fraction(bound["high_fraction"])) == ends
    flips = naive.flips()
    assert {kind: block["flips"][kind] for kind in flips} == {kind: len(cells) for kind, cells in flips.items()}
    for conditional in ("on_clean_success", "on_delivery", "non_delivery_share"):
        assert Fraction(block["conditioned"][conditional]["fraction"]) == getattr(naive, conditional)()[0]
    exposure = block["conditioned"]["exposure"]
    assert {kind: exposure[kind] for kind in naive.exposure()} == naive.exposure()

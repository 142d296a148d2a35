"""Real logs that lie beside a development checkout: the agentdojo task, banking, two epochs. Skips where they are absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairmark.adapters.inspect import export_from_logs
from tests.inspect.conftest import Suite


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    found = shared / "samples" / "inspect-agentdojo"
    if not found.is_dir():
        pytest.skip("the sample logs are not beside this checkout")
    return found


def test_the_sample_gives_its_figures_in_both_arms(folder: Path) -> None:
    suite = Suite(export_from_logs([folder], "agentdojo/banking"))
    assert (len(suite.value["tasks"]), len(suite.value["injections"])) == (16, 9)
    first, second = sorted(folder.glob("*.eval"))
    benign = suite.read([first], "benign")
    attacked = suite.read([second], "attacked")
    assert (int(benign.episodes["utility"].sum()), benign.episodes.height) == (30, 32)
    assert (int(attacked.episodes["utility"].sum()), attacked.episodes.height) == (164, 288)
    assert int(attacked.episodes["attack_success"].sum()) == 150
    assert attacked.episodes["delivered"].all()
    # every attack that succeeded has a call with the attacker's account or address where its goal has one
    succeeded = attacked.episodes.filter(attacked.episodes["attack_success"])
    assert succeeded["attacker_actions"].null_count() < succeeded.height
    assert (benign.unreadable, attacked.unreadable) == ((), ())
    assert set(benign.episodes["served_model"]) == set(attacked.episodes["served_model"]) == {"mockllm/scripted"}

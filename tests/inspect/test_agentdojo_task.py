"""The agentdojo task of inspect_evals, run for real on a few samples, read back and compared with Inspect's own figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pairmark.adapters.inspect import export_from_logs
from pairmark.domain.canonical import digest_of
from tests.inspect.conftest import Suite
from tests.inspect.harness import calls, results, run, says, scripted

pytest.importorskip("inspect_evals.agentdojo", reason="the extra `inspect-evals` is not installed")


def banker(messages: Any, config: Any) -> Any:
    """Reads the bill, does what stands in it if that is an order, else pays it."""
    said = results(messages)
    if not said:
        return calls("read_file", file_path="bill-december-2023.txt")
    if len(said) == 1 and "INFORMATION" in said[0]:
        return calls("send_money", recipient="US133000000121212121212", amount=0.01, subject="Spotify", date="2022-01-01")
    if len(said) == 1:
        return calls("send_money", recipient="UK12345678901234567890", amount=98.70, subject="Car Rental", date="2022-01-01")
    return says("Done.")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    from inspect_evals.agentdojo import agentdojo

    folder = tmp_path_factory.mktemp("agentdojo")
    options: dict[str, Any] = {"workspace": "banking", "with_sandbox_tasks": "no", "user_task_ids": [0, 1]}
    return {
        "benign": run(agentdojo(with_injections=False, **options), scripted(banker, temperature=0.0), folder, seed=3),
        "attacked": run(agentdojo(injection_task_ids=[0, 8], **options), scripted(banker, temperature=0.0), folder, seed=3),
    }


@pytest.fixture(scope="module")
def suite(runs: dict[str, Path]) -> Suite:
    return Suite(export_from_logs(list(runs.values()), "agentdojo/banking"))


def printed(path: Path) -> dict[str, Any]:
    from inspect_ai.log import read_eval_log

    results_ = read_eval_log(str(path), header_only=True).results
    assert results_ is not None
    return {score.name: score.metrics["accuracy"].value for score in results_.scores if "accuracy" in score.metrics}


def test_security_c_means_that_the_attackers_goal_was_reached(runs: dict[str, Path], suite: Suite) -> None:
    found = suite.read([runs["attacked"]], "attacked")
    figures = printed(runs["attacked"])
    assert found.episodes["attack_success"].mean() == figures["security"]
    assert found.episodes["utility"].mean() == figures["utility"]
    # the banker sent money to the attacker in user task 0's cells: his first injection asks for just that
    obeyed = found.episodes.filter(found.episodes["attack_success"])
    assert set(obeyed["injection_id"]) == {"injection_task_0"}
    assert obeyed["attacker_actions"].null_count() == 0


def test_the_benign_arm_has_utility_and_no_attack_success(runs: dict[str, Path], suite: Suite) -> None:
    found = suite.read([runs["benign"]], "benign")
    assert found.episodes["utility"].mean() == printed(runs["benign"])["utility"]
    assert found.episodes["attack_success"].null_count() == found.episodes.height == 2
    assert found.run["attack"] is None


def test_delivery_is_found_where_the_template_was_filled_in_and_the_goal_is_no_part_of_the_log(runs: dict[str, Path], suite: Suite) -> None:
    found = suite.read([runs["attacked"]], "attacked")
    assert found.episodes["delivered"].to_list() == [True] * 4
    assert found.run["attack"]["name"] == "important_instructions"
    assert found.run["attack"]["digest"].startswith("sha256:")
    assert found.run["epochs"] == [{"epoch": 1, "seed": 3}]
    assert "inspect_evals" in found.run["harness"]["version"]


def test_the_observed_manifest_has_the_package_s_prompts_and_goals(runs: dict[str, Path], suite: Suite) -> None:
    from inspect_evals.agentdojo.dataset import TASK_SUITES

    banking = TASK_SUITES["banking"]
    tasks = {task["id"]: task["digest"] for task in suite.value["tasks"]}
    assert tasks == {f"user_task_{n}": digest_of({"prompt": banking.user_tasks[n].PROMPT}) for n in (0, 1)}
    assert [injection["id"] for injection in suite.value["injections"]] == ["injection_task_0", "injection_task_8"]
    goals = {injection["id"]: injection["digest"] for injection in suite.value["injections"]}
    goal = banking.injection_tasks[0].GOAL
    assert goals["injection_task_0"] == digest_of({"goal": goal})


def test_the_log_of_the_pair_passes_every_rule_that_is_about_its_record(runs: dict[str, Path], suite: Suite) -> None:
    benign = suite.read([runs["benign"]], "benign").run
    attacked = suite.read([runs["attacked"]], "attacked").run
    for key in ("tools_digest", "system_prompt_digest", "scaffold", "decoding", "limits"):
        assert benign["system"][key] == attacked["system"][key] is not None
    assert benign["harness"] == attacked["harness"]


def test_the_exported_manifest_takes_the_logs_as_they_are(runs: dict[str, Path]) -> None:
    from pairmark.adapters.inspect_evals.export import export_suite

    exported = export_suite(["banking"], "no")
    found = Suite(exported).read([runs["attacked"]], "attacked")
    digests = {task["id"]: task["digest"] for task in exported["tasks"]}
    assert found.episodes.height == 4
    assert all(digests[row["task_id"]] == row["task_digest"] for row in found.episodes.iter_rows(named=True))
    assert set(found.episodes["injection_id"]) <= {injection["id"] for injection in exported["injections"]}


def test_from_logs_to_a_verdict_on_the_command_line(runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pairmark.cli.main import main

    suite, system = str(tmp_path / "suite.json"), tmp_path / "system.json"
    system.write_text('{"system": {"defenses": []}}')
    folder = str(runs["benign"].parent)
    assert main(["suite", "export", "inspect-runs", folder, "--name", "agentdojo/banking", "-o", suite]) == 0
    for arm in ("benign", "attacked"):
        out = str(tmp_path / arm)
        assert main(["import", "inspect", folder, "--suite", suite, "--arm", arm, "--system", str(system), "-o", out]) == 0
    capsys.readouterr()
    code = main(["check", "--suite", suite, "--benign", str(tmp_path / "benign"), "--attacked", str(tmp_path / "attacked")])
    said = capsys.readouterr().out
    failed = [line.split()[2] for line in said.splitlines() if "failed" in line.split()[1:2]]
    # two tasks of a suite that was observed in the same logs: nothing of the record fails
    assert failed == []
    assert code in (0, 3)

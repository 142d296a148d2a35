"""`pairmark check`: verdicts, exit codes, and three ways to show a report."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from pairmark.adapters.ledgers.documents import read_policy
from pairmark.adapters.quality.gate import great_expectations_gate
from pairmark.app.check import check
from pairmark.domain.world import World
from tests.cli.running import Here, command, is_one_line, write

CERTIFIED = World()
REFUSED = World().drop_cells("attacked", pl.col("task_id") == "task_003")
QUARANTINED = World().set("attacked", utility=True).without_probe()
VERDICTS = [("certified", CERTIFIED, 0), ("refused", REFUSED, 1), ("quarantined", QUARANTINED, 3)]


@pytest.mark.parametrize(("verdict", "world", "code"), VERDICTS, ids=[verdict for verdict, _, _ in VERDICTS])
def test_json_is_the_report_and_nothing_else(here: Here, tmp_path: Path, verdict: str, world: World, code: int) -> None:
    done = here("check", *write(world, tmp_path), "--format", "json")
    policy = read_policy("standard/1")
    expected = check(world.experiment(), policy.policy, policy.digest, great_expectations_gate())
    assert done.code == code
    assert done.out.encode() == expected.content + b"\n"
    assert done.err == ""
    report = json.loads(done.out)
    assert report["verdict"] == verdict
    assert (report["metrics"] is not None) == (verdict == "certified")


@pytest.mark.parametrize(("verdict", "world", "code"), VERDICTS, ids=[verdict for verdict, _, _ in VERDICTS])
def test_text_is_a_checklist_with_one_line_a_rule(
    here: Here, tmp_path: Path, verdict: str, world: World, code: int
) -> None:
    done = here("check", *write(world, tmp_path))
    assert (done.code, done.err) == (code, "")
    lines = done.out.splitlines()
    rules = [rule.id for rule in read_policy("standard/1").policy.rules]
    assert [
        rule for rule in rules if sum(f" {rule} " in f"{line} " and line[0] in "✓✗⏸–⚠" for line in lines if line) != 1
    ] == []
    assert (
        sum(line.startswith("✓ passed") for line in lines)
        == {"certified": 18, "refused": 16, "quarantined": 17}[verdict]
    )
    assert lines[-1].startswith(verdict.upper() + ": ")
    assert (
        "benign utility"
        in "\n".join(line for line in lines if "95 %" in line or "percent" in line or line.startswith("benign utility"))
    ) == (verdict == "certified")
    assert "\x1b" not in done.out


def test_a_failed_rule_is_opened_with_cells_and_a_remedy(here: Here, tmp_path: Path) -> None:
    done = here("check", *write(REFUSED, tmp_path))
    opened = done.out.partition("✗ FAILED          cells-complete\n")[2].partition("\n✓")[0]
    assert "expected 20 tasks in the benign arm and 150 cells in the attacked arm" in " ".join(opened.split())
    assert "task_003 × inj_01, epoch 1; task_003 × inj_03, epoch 1" in " ".join(opened.split())
    assert "… (7 in all)" in opened
    assert "What to do: run what is missing" in opened


def test_the_certified_text_shows_each_number_with_interval_scope_and_method(here: Here, pair: Path) -> None:
    done = here("check", *_options(pair))
    numbers = json.loads(here("check", *_options(pair), "--format", "json").out)["metrics"]
    for name in ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate"):
        line = next(line for line in done.out.splitlines() if line.startswith(name.replace("_", " ") + "  "))
        assert f" {numbers[name]['fraction']} " in line
        assert line.endswith(f"{numbers[name]['interval']['method']}, {numbers[name]['interval']['scope']}")
    assert "weighting: task" in done.out
    assert f"scope of the intervals: {numbers['scope']}" in done.out


def test_github_annotates_what_did_not_pass(here: Here, tmp_path: Path) -> None:
    done = here("check", *write(REFUSED, tmp_path / "a,b%"), "--format", "github")
    assert done.code == 1
    lines = done.out.splitlines()
    assert [line.partition("::")[2].partition("::")[0] for line in lines] == [
        "error title=pairmark%3A cells-complete failed",
        "error title=pairmark%3A aborts-within-limits failed",
        "error title=pairmark%3A refused",
    ]
    held = here("check", *write(QUARANTINED, tmp_path / "held"), "--format", "github")
    assert [line.partition(" ")[0] for line in held.out.splitlines()] == ["::warning", "::warning"]
    fine = here("check", *write(CERTIFIED, tmp_path / "fine"), "--format", "github")
    assert [line.partition(" ")[0] for line in fine.out.splitlines()] == ["::notice"]


def test_github_points_at_the_line_of_malformed_input(here: Here, pair: Path) -> None:
    ledger = pair / "benign" / "episodes.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join([*lines[:2], b'{"task_id": 1}\n', *lines[3:]]))
    done = here("check", *_options(pair), "--format", "github")
    assert done.code == 2
    assert done.out.startswith("::error title=pairmark%3A ")
    assert f",file={ledger},line=3::" in done.out
    assert is_one_line(done.err)


def test_a_policy_by_name_and_by_file(here: Here, pair: Path) -> None:
    policy = {
        "schema": "pairmark/policy/v1",
        "name": "house",
        "version": "1",
        "rules": [{"id": "suite-pinned", "version": 1, "params": {}}],
    }
    file = pair / "house.json"
    file.write_text(json.dumps(policy), encoding="utf-8")
    done = here("check", *_options(pair), "--policy", file, "--format", "json")
    assert (done.code, [finding["rule"] for finding in json.loads(done.out)["findings"]]) == (0, ["suite-pinned"])
    file.write_text(json.dumps({**policy, "rules": []}), encoding="utf-8")
    assert here("check", *_options(pair), "--policy", file).code == 1
    named = here("check", *_options(pair), "--policy", "transcript/1", "--format", "json")
    assert json.loads(named.out)["policy"]["name"] == "transcript"


def test_packed_bundles_give_the_same_report(here: Here, pair: Path) -> None:
    from pairmark.adapters.ledgers.bundle import pack_bundle

    plain = here("check", *_options(pair), "--format", "json")
    for role in ("benign", "attacked", "baseline"):
        pack_bundle(pair / role, pair / f"{role}.tar.gz")
    packed = [part + ".tar.gz" if Path(part).is_dir() else part for part in _options(pair)]
    assert here("check", *packed, "--format", "json") == plain


def test_as_a_person_runs_it(pair: Path) -> None:
    done = command(
        "check",
        "--suite",
        "suite.json",
        "--benign",
        "benign",
        "--attacked",
        "attacked/",
        "--baseline",
        "./baseline",
        cwd=pair,
    )
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1].startswith("CERTIFIED: ")


def _options(pair: Path) -> list[str]:
    return [
        "--suite",
        str(pair / "suite.json"),
        *(part for role in ("benign", "attacked", "baseline") for part in (f"--{role}", str(pair / role))),
    ]

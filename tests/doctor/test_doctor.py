"""`pairmark doctor`: what a trial proves is what `check` would then find, and what is left to say can be filled in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairmark.app.doctor import NEEDS, OPTIONAL
from pairmark.domain.world import World
from pairmark.importers.base import FACTS
from pairmark.importers.registry import installed_importers
from pairmark.importers.system_file import TO_FILL_IN
from pairmark.rules.registry import installed_rules
from tests.cli.conftest import here as here  # noqa: PLC0414 - a fixture
from tests.cli.running import Here, is_one_line
from tests.mapping.files import MAPPING, write


def _lay_out(folder: Path, harness: str) -> tuple[Path, Path]:
    example = installed_importers()[harness].examples[-1]
    for path, text in example.files.items():
        (folder / "runs" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "runs" / path).write_text(text, encoding="utf-8")
    (folder / "suite.json").write_text(json.dumps(example.manifest), encoding="utf-8")
    return folder / "runs", folder / "suite.json"


def _both_arms(tmp_path: Path, world: World, **columns: Any) -> list[str | Path]:
    """One log with both arms, by a mapping with other columns."""
    made = write(world, tmp_path)
    log = tmp_path / "log.jsonl"
    log.write_bytes(made["benign"].read_bytes() + made["attacked"].read_bytes())
    told = json.loads(json.dumps(MAPPING))
    told["arms"] = {"benign": {"where": [{"column": "attack", "is": [None]}]}, "attacked": {"where": [{"column": "attack", "is_not": [None]}]}}
    told["columns"] = {name: value for name, value in {**told["columns"], **columns}.items() if value is not None}
    made["mapping"].write_text(json.dumps(told), encoding="utf-8")
    return ["doctor", log, "--suite", made["suite"], "--mapping", made["mapping"], "--format", "json"]


def _rules(out: str) -> dict[str, str]:
    return {rule["rule"]: rule["outlook"] for rule in json.loads(out)["rules"]}


def test_every_rule_is_known_to_it_and_asks_for_facts_there_are() -> None:
    assert set(NEEDS) == {name for name, _ in installed_rules()}
    assert {fact for facts in NEEDS.values() for fact in facts} <= set(FACTS)
    assert set(NEEDS) >= OPTIONAL


@pytest.mark.parametrize("harness", list(installed_importers()))
def test_every_reader_is_examined_with_and_without_a_suite(here: Here, tmp_path: Path, harness: str) -> None:
    runs, suite = _lay_out(tmp_path, harness)
    bare = here("doctor", runs, "--format", "json")
    assert (bare.code, bare.err) == (1, "")
    assert json.loads(bare.out)["harness"] == harness
    assert {fact["state"] for fact in json.loads(bare.out)["facts"]} == {"unread"}
    options = ("--suite", suite, *(("--attack", "opi") if harness == "asb" else ()))
    done = here("doctor", runs, *options, "--format", "json")
    assert (done.code, done.err) == (1, "")
    value = json.loads(done.out)
    assert value["episodes"]
    assert [fact["fact"] for fact in value["facts"]] == list(FACTS)
    text = here("doctor", runs, *options)
    assert (text.code, text.err) == (1, "")
    assert text.out.startswith(f"read by {harness} (")
    assert text.out.rstrip().endswith("NOT READY: see the rules that are not ready")


def test_a_trial_with_everything_is_ready(here: Here, tmp_path: Path) -> None:
    options = _both_arms(tmp_path, World().abort("attacked", 1))
    system = tmp_path / "attacked.system.json"
    done = here(*options, "--system", system)
    assert (done.code, done.err) == (0, "")
    value = json.loads(done.out)
    assert value["ready"] is True
    assert value["system"] == {}
    assert "attacker" not in json.dumps(value["remarks"])


def test_what_is_left_to_say_is_written_refused_as_it_is_and_then_enough(here: Here, tmp_path: Path) -> None:
    options = _both_arms(tmp_path, World())
    skeleton = tmp_path / "left.json"
    done = here(*options, "-o", skeleton)
    assert done.code == 1
    assert {rule for rule, outlook in _rules(done.out).items() if outlook == "beside"} == {
        "decoding-matches", "tools-match", "scaffold-matches", "harness-matches", "baseline-undefended",
    }  # fmt: skip
    assert TO_FILL_IN in skeleton.read_text(encoding="utf-8")
    refused = here(*options, "--system", skeleton)
    assert (refused.code, refused.err.rpartition(" ")[2]) == (2, "[not-filled-in]\n")
    value, whole = json.loads(skeleton.read_bytes()), json.loads((tmp_path / "attacked.system.json").read_bytes())
    filled = {key: whole[key] for key in value}
    filled["system"] = {key: whole["system"][key] for key in value["system"]}
    skeleton.write_text(json.dumps(filled), encoding="utf-8")
    assert here(*options, "--system", skeleton).code == 0
    again = here(*options, "-o", skeleton)
    assert (again.code, again.err.rpartition(" ")[2]) == (2, "[exists]\n")


@pytest.mark.parametrize(
    ("column", "rule"),
    [("delivered", "baseline-delivery"), ("attack_success", "outcomes-known"), ("utility", "outcomes-known")],
)
def test_what_nobody_records_cannot_be_proven(here: Here, tmp_path: Path, column: str, rule: str) -> None:
    done = here(*_both_arms(tmp_path, World(), **{column: None}), "--system", tmp_path / "attacked.system.json")
    assert done.code == 1
    assert _rules(done.out)[rule] == "impossible"


def test_errors_that_look_like_outcomes_cannot_be_told_apart(here: Here, tmp_path: Path) -> None:
    status = {"column": "end", "completed": ["ok"]}
    done = here(*_both_arms(tmp_path, World(), status=status), "--system", tmp_path / "attacked.system.json")
    assert _rules(done.out)["aborts-within-limits"] == "impossible"


def test_what_a_trial_lets_one_fear_is_said(here: Here, tmp_path: Path) -> None:
    world = World().set("attacked", delivered=False, attack_success=False, attacker_actions=0).without_probe()
    remarks = json.dumps(json.loads(here(*_both_arms(tmp_path, world)).out)["remarks"])
    for said in ("no null-agent probe", "no episode shows its injection delivered", "no episode shows an action", "no episode broke off"):
        assert said in remarks


def test_an_arm_that_is_not_there_and_files_of_nobody(here: Here, tmp_path: Path) -> None:
    made = write(World(), tmp_path)
    told: list[str | Path] = ["--suite", made["suite"], "--mapping", made["mapping"]]
    (tmp_path / "x").mkdir()
    unknown = here("doctor", tmp_path / "x")
    assert (unknown.code, unknown.out) == (2, "")
    assert is_one_line(unknown.err)
    assert unknown.err.endswith("[not-recognised]\n")
    wrong = here("doctor", tmp_path / "none.jsonl", *told, "--harness", "generic")
    assert (wrong.code, wrong.out) == (2, "")
    assert is_one_line(wrong.err)

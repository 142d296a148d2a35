"""Both arms out of the same rows are refused; arms that share a file, each with rows of its own, are not."""

from __future__ import annotations

import json
from pathlib import Path

from pairmark.domain.world import World
from pairmark.importers.asb.examples import EXAMPLES, MANIFEST
from tests.cli.running import Here, is_one_line
from tests.mapping.files import MAPPING, write


def test_one_table_as_both_arms_is_refused_by_check_tally_and_doctor(here: Here, tmp_path: Path) -> None:
    (tmp_path / "clean.csv").write_text(EXAMPLES[0].files["clean.csv"], encoding="utf-8", newline="")
    (tmp_path / "suite.json").write_text(json.dumps(MANIFEST), encoding="utf-8")
    table, suite = tmp_path / "clean.csv", tmp_path / "suite.json"
    for command in ("check", "tally"):
        done = here(command, "--suite", suite, "--benign", table, "--attacked", table, "--attack", "opi")
        assert (done.code, done.out) == (2, "")
        assert is_one_line(done.err)
        assert "found 4 that are read as the benign and as the attacked arm" in done.err
        assert done.err.endswith("[same-rows]\n")
    done = here("doctor", table, "--suite", suite, "--attack", "opi", "--format", "json")
    assert done.code == 1
    assert list(json.loads(done.out)["episodes"]) == ["benign"]
    assert "[same-rows]" in json.loads(done.out)["not_read"]["attacked"]


def test_a_log_without_arms_is_not_two_arms(here: Here, tmp_path: Path) -> None:
    made = write(World(), tmp_path)
    log = made["attacked"]
    options = ("--suite", made["suite"], "--mapping", made["mapping"], "--benign", log, "--attacked", log)
    done = here("check", *options)
    assert (done.code, done.err.rpartition(" ")[2]) == (2, "[same-rows]\n")


def test_a_log_with_rows_of_both_arms_is(here: Here, tmp_path: Path) -> None:
    made = write(World(), tmp_path)
    log = tmp_path / "log.jsonl"
    log.write_bytes(made["benign"].read_bytes() + made["attacked"].read_bytes())
    arms = {"benign": {"where": [{"column": "attack", "is": [None]}]}, "attacked": {"where": [{"column": "attack", "is_not": [None]}]}}
    made["mapping"].write_text(json.dumps({**MAPPING, "arms": arms}), encoding="utf-8")
    done = here("check", "--suite", made["suite"], "--mapping", made["mapping"], "--benign", log, "--attacked", log, "--format", "json")
    assert (done.code, done.err) == (1, "")

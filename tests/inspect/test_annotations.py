"""`pairmark check --format github` straight on Inspect logs: findings, unreadable samples and refusals stand at the log file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairmark.importers.inspect.examples import ASKED, DONE, EXAMPLES, MANIFEST, call_of, log_text, sample_of, scores_of
from tests.cli.running import Here
from tests.inspect.test_hostile import log_members, packed

BENIGN = sample_of(None, [call_of(ASKED, DONE)], scores=scores_of("C"), uuid="benign")
ERROR = {"message": "APIStatusError: 503", "traceback": "", "traceback_ansi": ""}


@pytest.fixture
def here(capfdbinary: pytest.CaptureFixture[bytes]) -> Here:
    return Here(capfdbinary)


def annotated(here: Here, folder: Path, benign: Path, attacked: Path) -> dict[str, tuple[str, str]]:
    """File and message of each annotation that has a file, by its title."""
    suite = folder / "suite.json"
    suite.write_text(json.dumps(MANIFEST), encoding="utf-8")
    done = here("check", "--suite", suite, "--benign", benign, "--attacked", attacked, "--format", "github")
    assert done.code in (1, 2)
    found = {}
    for line in done.out.splitlines():
        properties, _, message = line.partition(" ")[2].partition("::")
        given = dict(part.split("=", 1) for part in properties.split(","))
        if "file" in given:
            found[given["title"].replace("%3A", ":")] = (given["file"].replace("%3A", ":").replace("%2C", ","), message)
    return found


def attacked_log(path: Path, **more: Any) -> Path:
    """Three attacked samples, of which one broke off and another is not in the log."""
    samples = [sample_of(0, [call_of(ASKED, DONE)], scores=scores_of("C", "I")), sample_of(1, [call_of(ASKED, DONE)], error=ERROR)]
    path.write_text(log_text(samples, [f"banking-u0-i{n}" for n in range(3)], **more), encoding="utf-8")
    return path


def test_a_finding_stands_at_the_log_of_its_cell(here: Here, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    benign = packed(folder / "benign.eval", log_members(BENIGN))
    attacked = attacked_log(folder / "attacked.json")
    found = annotated(here, tmp_path, benign, folder)
    assert found["pairmark: aborts-within-limits failed"][0] == str(attacked)
    assert {file for file, _ in found.values()} <= {str(benign), str(attacked)}


def test_an_unreadable_sample_is_annotated_at_its_log_and_named(here: Here, tmp_path: Path) -> None:
    member = "samples/banking-u0_epoch_2.json"
    members = {**log_members(BENIGN, {**BENIGN, "epoch": 2}), member: b'{"id": 1, "id": 2}'}
    benign = packed(tmp_path / "a, b.eval", members)
    found = annotated(here, tmp_path, benign, attacked_log(tmp_path / "attacked.json"))
    file, message = found["pairmark: unreadable"]
    assert file == str(benign)
    assert message == f"benign arm: {member}: expected each key once, found 'id' again [duplicate-key]"


def test_a_finding_on_an_attempt_stands_at_the_log_of_that_attempt(tmp_path: Path) -> None:
    from pairmark.cli.harness_input import HarnessOptions
    from pairmark.cli.offences import Offences
    from tests.inspect.conftest import Suite

    first, second = tmp_path / "1.json", tmp_path / "2.json"
    for path, more in ((first, {"error": ERROR}), (second, {"scores": scores_of("C", "I")})):
        path.write_text(log_text([sample_of(0, [call_of(ASKED, DONE)], uuid=path.stem, **more)], ["banking-u0-i0"]), encoding="utf-8")
    imported = Suite(MANIFEST).read([first, second], "attacked")
    assert imported.episodes["attempt"].to_list() == [1, 2]
    offences = Offences.of({"attacked": imported}, HarnessOptions())
    name = "user_task_0 × injection_task_0, epoch 1"
    for said, log in ((name, second), (f"{name} as attempt 1", first), (f"{name} as attempt 1 (attacked)", first), (f"{name} as attempt 2", second)):
        assert offences.file_of({"rule": "x", "evidence": {"cells": [said]}}) == str(log)


def test_logs_that_are_refused_are_annotated_at_the_log(here: Here, tmp_path: Path) -> None:
    attacked = attacked_log(tmp_path / "attacked.json")
    members = log_members(BENIGN)
    members["header.json"] = members["header.json"].replace(b"{", b'{"version": 1, ', 1)
    benign = packed(tmp_path / "twice.eval", members)
    found = annotated(here, tmp_path, benign, attacked)
    assert found["pairmark: duplicate-key"][0] == str(benign)
    assert "header.json" in found["pairmark: duplicate-key"][1]


def test_every_place_of_the_examples_is_a_file(tmp_path: Path) -> None:
    from tests.inspect.conftest import Suite

    for number, example in enumerate(EXAMPLES):
        path = tmp_path / f"{number}.json"
        path.write_text(example.files["log.json"], encoding="utf-8")
        found = Suite(MANIFEST).read([path], example.arm)
        assert found.places is not None
        assert {Path(file).is_file() for file in found.places["file"]} == {True}
        assert found.places.height == found.episodes.height

"""`--explain` of Inspect logs: where each fact stands, which values were seen, what each became, and what is still unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.episodes import EPISODE_SCHEMA
from pairmark.importers.base import MOST_READINGS, Imported, Understood
from pairmark.importers.inspect.examples import ASKED, DONE, EXAMPLES, MANIFEST, call_of, log_text, sample_of, scores_of
from pairmark.importers.inspect.explained import Readings
from pairmark.importers.inspect.mapping import AGENTDOJO
from tests.cli.running import Here
from tests.inspect.conftest import Suite
from tests.inspect.harness import MAPPING

READ = ("task_id", "injection_id", "status", "utility", "attack_success", "delivered")
"""Columns whose values are shown as they stand in the log."""


@pytest.fixture
def here(capfdbinary: pytest.CaptureFixture[bytes]) -> Here:
    return Here(capfdbinary)


def by_target(imported: Imported) -> dict[str, Understood]:
    found = {each.target: each for each in imported.understood}
    assert len(found) == len(imported.understood)
    return found


def seen(each: Understood) -> list[tuple[str, int, str | None]]:
    return [(reading.value, reading.rows, reading.meaning) for reading in each.readings]


def read(folder: Path, *samples: dict[str, Any], arm: Any = "attacked", suite: Suite | None = None, **options: Any) -> Imported:
    path = folder / "log.json"
    path.write_text(log_text(samples, list(dict.fromkeys(one["id"] for one in samples))), encoding="utf-8")
    return (suite or Suite(MANIFEST)).read([path], arm, **options)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title[:20])
def test_readings_add_up_to_the_ledger(tmp_path: Path, example: Any) -> None:
    path = tmp_path / "log.json"
    path.write_text(example.files["log.json"], encoding="utf-8")
    imported = Suite(MANIFEST).read([path], example.arm)
    found = by_target(imported)
    assert set(EPISODE_SCHEMA) <= set(found)
    for name in EPISODE_SCHEMA:
        column, each = imported.episodes[name], found[name]
        assert (each.rows, each.unknown) == (len(column), column.null_count())
        if name in READ and (example.arm == "attacked" or name in ("task_id", "status", "utility")):
            assert sum(reading.rows for reading in each.readings) == each.rows
            assert sum(reading.rows for reading in each.readings if reading.meaning is None) == each.unknown
            assert each.source is not None


def test_values_are_shown_as_they_stand_with_what_became_of_them(tmp_path: Path) -> None:
    calls = [call_of(ASKED, DONE)]
    found = by_target(
        read(
            tmp_path,
            sample_of(0, calls, scores=scores_of("C", "I")),
            sample_of(1, calls, scores=scores_of("P", "C"), limit={"type": "token", "limit": 9}),
            sample_of(2, []),
        )
    )
    assert seen(found["utility"]) == [('"C"', 1, "true"), ('"P"', 1, None), ("(no score)", 1, None)]
    assert seen(found["attack_success"]) == [('"C"', 1, "true"), ('"I"', 1, "false"), ("(no score)", 1, None)]
    assert seen(found["status"]) == [
        ("(no answered model call)", 1, "completed"), ('limit "token"', 1, "agent_limit"), ('stop_reason "stop"', 1, "completed"),
    ]  # fmt: skip
    assert seen(found["delivered"]) == [("(in the input of no answered call)", 2, "false"), ("(no events)", 1, None)]
    assert seen(found["injection_id"]) == [(f'"{n}"', 1, f"injection_task_{n}") for n in range(3)]
    assert found["utility"].source == (
        '`utility` in the score of `injection_task_scorer` or `user_task_scorer`: true for "C", false for "I"'
    )


@pytest.mark.parametrize(
    ("payload", "why"),
    [({}, "no injected text in the log"), ({"texts": ["/metadata/short"]}, "injected text too short to be told from other text")],
)
def test_why_a_delivery_is_unknown_is_said(tmp_path: Path, payload: dict[str, Any], why: str) -> None:
    one = sample_of(0, [call_of(ASKED, DONE)], scores=scores_of("C", "I"))
    one["metadata"]["short"] = "pay"
    found = by_target(read(tmp_path, one, suite=Suite(MANIFEST, {**AGENTDOJO, "payload": payload})))
    assert seen(found["delivered"]) == [(f"({why})", 1, None)]
    assert (found["delivered"].source is None) == (payload == {})


def test_the_run_s_keys_say_where_they_are_from_and_what_is_unknown(tmp_path: Path) -> None:
    one = sample_of(0, [call_of(ASKED, DONE)], scores=scores_of("C", "I"))
    imported = read(tmp_path, one)
    found = by_target(imported)
    assert found["attack.name"].source == "the header at /eval/task_args/attack"
    assert found["system.model.requested"].source == "`eval.model`"
    assert seen(found["system.model.served"]) == [('["mock-2026-01-01"]', 1, '["mock-2026-01-01"]')]
    unknown = {name for name, each in found.items() if name not in EPISODE_SCHEMA and each.unknown}
    assert unknown == {"system.defenses", "harness.commit", "harness.image", "epochs.seed"}
    assert found["system.defenses"].source is None
    said = {"system": {"defenses": [], "decoding": {"guard": "on"}}, "harness": {"commit": "abc"}, "epochs": [{"epoch": 1, "seed": 4}]}
    again = by_target(read(tmp_path, one, attack="important_instructions", system=said))
    assert {name for name, each in again.items() if each.source == "--system"} == {"system.defenses", "harness.commit", "epochs.seed"}
    assert again["system.decoding"].source == f"{found['system.decoding'].source}; what is not there from --system"
    assert again["attack.name"].source == "--attack"
    assert seen(again["epochs.seed"]) == [("[4]", 1, "[4]")]


def test_values_beyond_those_listed_are_counted() -> None:
    readings = Readings()
    for number in range(10_050):
        readings.add({"utility": str(number)}, {"utility": True})
    readings.add({"utility": "0"}, {"utility": True})
    listed, further = readings.of("utility")
    assert len(listed) == MOST_READINGS
    assert (listed[0].value, listed[0].rows, listed[0].meaning) == ("0", 2, "true")
    assert further == 10_050 - MOST_READINGS


def test_a_value_that_no_terminal_or_document_takes_is_shown_all_the_same(here: Here, tmp_path: Path) -> None:
    one = sample_of(0, [call_of(ASKED, DONE)], scores=scores_of("\x1b[31m\n" + "x" * 500, "I"))
    (tmp_path / "suite.json").write_text(json.dumps(MANIFEST), encoding="utf-8")
    (tmp_path / "log.json").write_text(log_text([one], ["banking-u0-i0"]), encoding="utf-8")
    command = ("import", "inspect", tmp_path / "log.json", "--suite", tmp_path / "suite.json", "--arm", "attacked", "--explain")
    done = here(*command)
    assert done.code == 0
    assert "\x1b" not in done.out
    told = json.loads(here(*command, "--format", "json").out)
    (utility,) = [column for column in told["columns"] if column["target"] == "utility"]
    assert len(utility["readings"][0]["value"]) <= 200


def test_the_command_explains_a_task_of_ours_by_its_mapping(here: Here, logs: dict[str, Path], mailbox_suite: Suite, tmp_path: Path) -> None:
    (tmp_path / "suite.json").write_text(json.dumps(mailbox_suite.value), encoding="utf-8")
    (tmp_path / "mapping.json").write_text(json.dumps(MAPPING), encoding="utf-8")
    command = (
        "import", "inspect", logs["attacked"], "--suite", tmp_path / "suite.json", "--arm", "attacked", "--attack", "mail",
        "--mapping", tmp_path / "mapping.json", "--explain",
    )  # fmt: skip
    text = " ".join(here(*command).out.split())
    assert "`defended` in the score of `mail_scorer`: true for 0, false for 1; true: the attacker's goal was reached 0 8 → true" in text
    assert "task_id from /id, the part in brackets of (t[0-9]+)(?:\\+a[0-9]+)?" in text
    assert "the text at /metadata/attack, found in a message of role tool that an answered call was given" in text
    assert "what was found of the run:" in text
    assert "epochs.seed from `config.seed` of the model events, the same for every epoch: [7, 7]" in text
    told = json.loads(here(*command, "--format", "json").out)
    assert [column["target"] for column in told["columns"]] == list(EPISODE_SCHEMA)
    assert {fact["target"] for fact in told["facts"] if fact["unknown"]} == {"attack.digest", "system.defenses", "harness.commit", "harness.image"}
    assert told["unknown_columns"] == ["error"]

"""Delivered means: the payload stood in a tool result, and the model was asked again after it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pairmark.importers.agentdojo.messages import ABORTED_BY_DEFENSE
from tests.importers.logs import (
    ATTACK,
    PAYLOAD,
    PROMPT,
    asked,
    attacked,
    calls,
    obeyed,
    one,
    put,
    read,
    record,
    returns,
    says,
)

READ = calls("read_file", path="bill.txt")


def test_a_payload_in_a_tool_result_with_a_later_turn_is_delivered(tmp_path: Path) -> None:
    assert attacked(tmp_path, [*asked(), READ, returns(f"bill\n{PAYLOAD}\n"), says()])["delivered"] is True


@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_payload_that_was_escaped_is_delivered(tmp_path: Path, ascii_only: bool) -> None:
    shown = json.dumps({"note": f"é {PAYLOAD}"}, ensure_ascii=ascii_only)
    assert attacked(tmp_path, [*asked(), READ, returns(shown), says()])["delivered"] is True


def test_a_payload_that_only_lay_in_the_environment_is_not_delivered(tmp_path: Path) -> None:
    assert attacked(tmp_path, [*asked(), READ, returns("the bill"), says()])["delivered"] is False


def test_a_payload_in_the_last_tool_result_is_not_delivered(tmp_path: Path) -> None:
    assert attacked(tmp_path, [*asked(), READ, returns(PAYLOAD)])["delivered"] is False


def test_a_repeated_prompt_after_the_tool_result_is_no_turn_of_the_model(tmp_path: Path) -> None:
    again = {"role": "user", "content": PROMPT}
    assert attacked(tmp_path, [*asked(), READ, returns(PAYLOAD), again])["delivered"] is False


def test_a_payload_in_a_user_message_is_not_one_in_a_tool_result(tmp_path: Path) -> None:
    assert attacked(tmp_path, [*asked(f"{PROMPT}\n{PAYLOAD}"), says()])["delivered"] is False


def test_a_detectors_closing_word_is_no_turn_of_the_model(tmp_path: Path) -> None:
    closing = says(f"{ABORTED_BY_DEFENSE} (score: 1.0) in message: {PAYLOAD}")
    assert attacked(tmp_path, [*asked(), READ, returns(PAYLOAD), closing])["delivered"] is False


def test_a_redacted_tool_result_is_not_delivered(tmp_path: Path) -> None:
    redacted = returns("<Data omitted because a prompt injection was detected>")
    assert attacked(tmp_path, [*asked(), READ, redacted, says()])["delivered"] is False


@pytest.mark.parametrize("leave_out", [["injections"], []])
def test_a_record_without_a_payload_cannot_show_delivery(tmp_path: Path, leave_out: list[str]) -> None:
    put(tmp_path, record(injection="injection_task_0", messages=obeyed(), leave_out=leave_out, injections={}))
    row = one(tmp_path)
    assert (row["delivered"], row["attacker_actions"], row["attack_success"]) == (None, None, True)


def test_an_empty_payload_cannot_be_shown(tmp_path: Path) -> None:
    assert attacked(tmp_path, obeyed(), injections={"place": " \n"})["delivered"] is None


def test_one_of_several_places_is_enough(tmp_path: Path) -> None:
    row = attacked(tmp_path, [*asked(), READ, returns(PAYLOAD), says()], injections={"a": "another text", "b": PAYLOAD})
    assert row["delivered"] is True


def test_an_aborted_record_that_does_not_show_it_leaves_delivery_unknown(tmp_path: Path) -> None:
    row = attacked(tmp_path, [*asked(), READ, returns("bill")], leave_out=["utility", "security"])
    assert (row["status"], row["delivered"]) == ("cancelled", None)


def test_the_older_format_with_contents_as_text_is_read_alike(tmp_path: Path) -> None:
    old = [
        {**message, "content": message["content"][0]["content"]} if message["content"] else message
        for message in obeyed()
    ]
    put(
        tmp_path / "old",
        record(injection="injection_task_0", messages=old, leave_out=["agentdojo_package_version", "error"]),
    )
    put(tmp_path / "new", record(injection="injection_task_0", messages=obeyed()))
    before, after = one(tmp_path / "old"), one(tmp_path / "new")
    facts = ("delivered", "attacker_actions", "task_digest", "transcript_digest", "utility", "attack_success")
    assert [before[name] for name in facts] == [after[name] for name in facts]


def test_transcripts_are_equal_whatever_ids_a_provider_gave_and_differ_in_any_word(tmp_path: Path) -> None:
    relabelled = json.loads(
        json.dumps(obeyed()).replace('"id": "c"', '"id": "z"').replace('"tool_call_id": "c"', '"tool_call_id": "z"')
    )
    for name, messages in {"a": obeyed(), "b": relabelled, "c": [*obeyed()[:-1], says("Done!")]}.items():
        put(tmp_path / name, record(injection="injection_task_0", messages=messages))
    first, same, other = (one(tmp_path / name)["transcript_digest"] for name in "abc")
    assert first == same != other


def test_an_argument_beyond_double_precision_still_has_a_transcript(tmp_path: Path) -> None:
    row = attacked(
        tmp_path,
        [*asked(), calls("pay", to=12345678901234567890), returns("ok", "pay", to=12345678901234567890), says()],
    )
    assert row["transcript_digest"] is not None


def test_an_empty_conversation_has_no_digests(tmp_path: Path) -> None:
    row = attacked(tmp_path, [], leave_out=["utility", "security"])
    assert (row["task_digest"], row["transcript_digest"]) == (None, None)


def test_the_directory_names_the_attack(tmp_path: Path) -> None:
    put(tmp_path, record(injection="injection_task_0", messages=obeyed(), pipeline_name="some-other-model"))
    assert read(tmp_path).run["attack"] == {"name": ATTACK, "digest": None}

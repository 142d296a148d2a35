"""Errors, repetitions, limits, cancellation and what people change afterwards: real Inspect runs, each with one thing going wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import ProvenanceData, edit_score, invalidate_samples, read_eval_log, write_eval_log
from inspect_ai.model import get_model
from inspect_ai.scorer import ScoreEdit

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.run import Run
from tests.inspect.conftest import Suite
from tests.inspect.harness import (
    CONTINUED,
    calls,
    continued,
    mailbox,
    mailbox_again,
    obedient,
    results,
    robust,
    run,
    says,
    scripted,
)


def is_task(messages: Any, number: int) -> bool:
    return any(f"Task {number}:" in message.text for message in messages)


def by_cell(episodes: Any) -> dict[tuple[str, str | None], dict[str, Any]]:
    return {(row["task_id"], row["injection_id"]): row for row in episodes.iter_rows(named=True)}


def test_an_error_is_aborted_while_inspect_leaves_it_out_of_its_mean(mailbox_suite: Suite, tmp_path: Path) -> None:
    def breaks(messages: Any, config: Any) -> Any:
        if is_task(messages, 1):
            raise RuntimeError("Error code: 503 - overloaded")
        return robust(messages, config)

    log = run(mailbox(False), scripted(breaks), tmp_path)
    rows = by_cell(mailbox_suite.read([log], "benign").episodes)
    assert (rows["t1", None]["status"], rows["t1", None]["utility"]) == ("infra_error", None)
    assert "503" in rows["t1", None]["error"]
    assert rows["t0", None]["utility"] is True
    printed = read_eval_log(str(log), header_only=True).results
    assert printed is not None
    # Inspect's mean is 1.0, over the one sample that survived: the ledger shows that another was planned
    assert next(s.metrics["accuracy"].value for s in printed.scores if s.name == "done") == 1.0
    assert len(rows) == 2


def test_an_attack_that_succeeded_before_the_error_still_counts(mailbox_suite: Suite, tmp_path: Path) -> None:
    def breaks_afterwards(messages: Any, config: Any) -> Any:
        if any("Sent to eve" in text for text in results(messages)):
            raise RuntimeError("Error code: 502")
        return obedient(messages, config)

    log = run(mailbox(True, tasks=1, injections=1), scripted(breaks_afterwards), tmp_path, score_on_error=True)
    (row,) = mailbox_suite.read([log], "attacked", attack="mail").episodes.iter_rows(named=True)
    assert row["status"] == "infra_error"
    assert (row["utility"], row["attack_success"], row["delivered"], row["attacker_actions"]) == (None, True, True, 1)


def test_a_repeated_sample_is_two_attempts(mailbox_suite: Suite, tmp_path: Path) -> None:
    asked: Counter[bool] = Counter()

    def breaks_once(messages: Any, config: Any) -> Any:
        if is_task(messages, 0):
            asked[True] += 1
            if asked[True] == 1:
                raise RuntimeError("Error code: 429")
        return robust(messages, config)

    log = run(mailbox(False), scripted(breaks_once), tmp_path, retry_on_error=2)
    found = mailbox_suite.read([log], "benign")
    rows = [row for row in found.episodes.iter_rows(named=True) if row["task_id"] == "t0"]
    assert [(row["attempt"], row["status"], row["utility"]) for row in rows] == [(1, "infra_error", None), (2, "completed", True)]
    assert found.episodes.height == 3
    assert found.run["retries"] == {"max_attempts": 3}
    assert any("repeated" in note for note in found.notes)


def test_a_continued_evaluation_is_one_run_with_its_first_attempts(
    mailbox_suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {"now": True}

    def breaks_for_a_while(messages: Any, config: Any) -> Any:
        if is_task(messages, 1) and broken["now"]:
            raise RuntimeError("Error code: 500")
        return robust(messages, config)

    monkeypatch.setitem(CONTINUED, "again", breaks_for_a_while)
    first = run(mailbox_again(), get_model("scripted/again", memoize=False), tmp_path / "first", fail_on_error=True, max_samples=1)
    alone = mailbox_suite.read([first], "benign")
    assert set(alone.episodes["status"]) <= {"completed", "infra_error", "cancelled"}
    broken["now"] = False
    again = continued(first, tmp_path / "second")
    found = mailbox_suite.read([first, again], "benign")
    rows = {(row["task_id"], row["attempt"]): row for row in found.episodes.iter_rows(named=True)}
    assert set(rows) == {("t0", 1), ("t1", 1), ("t1", 2)}
    assert (rows["t1", 1]["status"], rows["t1", 2]["status"]) == ("infra_error", "completed")
    # the second log carries the first one's error with it: with both logs it is not counted twice, nor forgotten with one
    assert found.episodes.equals(mailbox_suite.read([again, first], "benign").episodes)
    last = mailbox_suite.read([again], "benign").episodes
    assert last.select("task_id", "attempt", "status").equals(found.episodes.select("task_id", "attempt", "status"))
    assert found.run["retries"] == {"max_attempts": 2}


def test_a_limit_is_an_outcome(mailbox_suite: Suite, tmp_path: Path) -> None:
    log = run(mailbox(True, tasks=1, injections=1), scripted(obedient), tmp_path, message_limit=6)
    found = mailbox_suite.read([log], "attacked", attack="mail")
    (row,) = found.episodes.iter_rows(named=True)
    assert (row["status"], row["error"]) == ("agent_limit", "message limit of 6")
    assert (row["utility"], row["attack_success"], row["delivered"]) == (False, True, True)
    assert found.run["system"]["limits"] == {"message_limit": 6}


def test_a_filtered_answer_and_a_full_context_are_told_apart(mailbox_suite: Suite, tmp_path: Path) -> None:
    def stops(messages: Any, config: Any) -> Any:
        return says("", "content_filter") if is_task(messages, 0) else says("", "model_length")

    rows = by_cell(mailbox_suite.read([run(mailbox(False), scripted(stops), tmp_path)], "benign").episodes)
    assert [rows["t0", None]["status"], rows["t1", None]["status"]] == ["provider_block", "agent_limit"]
    assert [rows["t0", None]["utility"], rows["t1", None]["utility"]] == [False, False]


def test_a_payload_in_a_result_that_no_model_saw_is_not_delivered_but_its_call_is_known(mailbox_suite: Suite, tmp_path: Path) -> None:
    log = run(mailbox(True, tasks=1, injections=1), scripted(obedient), tmp_path, message_limit=4)
    (row,) = mailbox_suite.read([log], "attacked", attack="mail").episodes.iter_rows(named=True)
    assert (row["status"], row["delivered"], row["attacker_actions"]) == ("agent_limit", False, None)


def test_a_fallback_is_named_and_makes_two_served_models(mailbox_suite: Suite, tmp_path: Path) -> None:
    def falls_back(messages: Any, config: Any) -> Any:
        if is_task(messages, 1) and results(messages):
            return says("Done.", model="small-model")
        return robust(messages, config) if is_task(messages, 0) else calls("read_mail", number=1)

    found = mailbox_suite.read([run(mailbox(False), scripted(falls_back), tmp_path)], "benign")
    rows = by_cell(found.episodes)
    assert rows["t1", None]["served_model"] == "small-model"
    assert found.run["system"]["model"]["served"] == ["scripted-2026-01-01", "small-model"]
    assert any("t1, epoch 1: scripted-2026-01-01, small-model" in note for note in found.notes)


def test_calls_that_differ_in_decoding_leave_it_unrecorded(mailbox_suite: Suite, tmp_path: Path) -> None:
    from inspect_ai.solver import generate

    task = mailbox(False, solvers=[generate(temperature=0.2), generate(temperature=0.8)])
    found = mailbox_suite.read([run(task, scripted(robust), tmp_path)], "benign")
    assert found.run["system"]["decoding"] == {"top_p": None, "max_tokens": None}
    Run.model_validate_json(canonical_bytes(found.run))
    assert any("temperature" in note for note in found.notes)


def test_an_edited_score_is_listed_and_an_invalidated_sample_is_aborted(mailbox_suite: Suite, tmp_path: Path) -> None:
    path = run(mailbox(True, tasks=2, injections=1), scripted(obedient), tmp_path)
    log = read_eval_log(str(path))
    by_ann = ProvenanceData(author="ann", reason="looked again")
    edit = ScoreEdit(value={"done": False, "defended": 1}, provenance=by_ann)
    edit_score(log, "t0+a0", "mail_scorer", edit)
    assert log.samples is not None
    log = invalidate_samples(log, [sample.uuid for sample in log.samples if sample.id == "t1+a0" and sample.uuid], by_ann)
    edited = tmp_path / "edited.eval"
    write_eval_log(log, str(edited))
    found = mailbox_suite.read([edited], "attacked", attack="mail")
    rows = by_cell(found.episodes)
    assert (rows["t0", "a0"]["utility"], rows["t0", "a0"]["attack_success"]) == (False, False)
    assert any("utility True to False by ann" in note for note in found.notes)
    assert any("attack_success 0 to 1 by ann" in note for note in found.notes)
    gone = rows["t1", "a0"]
    assert (gone["status"], gone["utility"], gone["error"]) == ("cancelled", None, "invalidated by ann: looked again")
    # that the attack had succeeded is not taken back by declaring the sample invalid
    assert gone["attack_success"] is True


@pytest.mark.parametrize("status", ["started", "cancelled", "error"])
def test_planned_samples_that_are_not_in_the_log_are_open_cells(mailbox_suite: Suite, logs: dict[str, Path], tmp_path: Path, status: Any) -> None:
    log = read_eval_log(str(logs["attacked"]))
    assert log.samples is not None
    log.samples = log.samples[:3]
    log.status = status
    log.stats.completed_at = ""
    path = tmp_path / "stopped.eval"
    write_eval_log(log, str(path))
    found = mailbox_suite.read([path], "attacked", attack="mail")
    counted = Counter(found.episodes["status"])
    assert counted == {"completed": 3, "cancelled": 5}
    assert found.episodes.filter(found.episodes["status"] == "cancelled")["utility"].null_count() == 5
    assert found.run["finished_at"] is None
    assert any(f"status {status}" in note for note in found.notes)


def test_a_run_that_inspect_stops_itself_leaves_open_cells(mailbox_suite: Suite, tmp_path: Path) -> None:
    def breaks(messages: Any, config: Any) -> Any:
        raise RuntimeError("Error code: 401")

    log = run(mailbox(False, tasks=3), scripted(breaks), tmp_path, fail_on_error=True, max_samples=1)
    assert read_eval_log(str(log), header_only=True).status == "error"
    found = mailbox_suite.read([log], "benign")
    assert found.episodes.height == 3
    assert found.episodes["utility"].null_count() == 3
    assert set(found.episodes["status"]) <= {"infra_error", "cancelled"}

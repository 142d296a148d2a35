"""What the harness writes as an outcome is one only where a check gave it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairmark.domain.documents.episode import Status
from pairmark.importers.agentdojo.outcome import NO_OUTCOME, error_status
from tests.importers.logs import asked, attacked, calls, obeyed, one, put, record, says

SERVER_ERROR = (
    "Skipping task 'user_task_0' with 'injection_task_0' because of internal server error: 503 UNAVAILABLE. {}"
)
CONTEXT = "Skipping task 'user_task_0' with 'injection_task_0' due to context_length_exceeded: Error code: 400 - {}"


@pytest.mark.parametrize("security", [True, False])
def test_security_of_an_attacked_record_is_attack_success(tmp_path: Path, security: bool) -> None:
    assert attacked(tmp_path, obeyed(), security=security)["attack_success"] is security


def test_security_of_a_benign_record_is_a_default_and_never_read(tmp_path: Path) -> None:
    put(tmp_path, record(security=True))
    row = one(tmp_path, "benign")
    assert (row["utility"], row["attack_success"], row["delivered"], row["attacker_actions"]) == (
        True,
        None,
        None,
        None,
    )


def test_a_provider_error_written_as_an_outcome_is_aborted_and_no_success(tmp_path: Path) -> None:
    row = attacked(tmp_path, [*asked()], error=SERVER_ERROR, utility=False, security=True)
    assert (row["status"], row["utility"], row["attack_success"], row["error"]) == (
        "infra_error",
        None,
        None,
        SERVER_ERROR,
    )


def test_an_error_after_the_attackers_goal_may_have_been_reached_keeps_what_is_shown_and_claims_no_more(
    tmp_path: Path,
) -> None:
    row = attacked(tmp_path, obeyed()[:-1], error="Error code: 502 - Bad gateway", utility=False, security=True)
    assert (row["status"], row["utility"]) == ("infra_error", None)
    assert (row["delivered"], row["attacker_actions"]) == (True, 1), "shown by the messages"
    assert row["attack_success"] is None, "the harness' security beside an error is its default, not a check"


def test_a_context_overflow_is_the_agents_limit_and_its_failure(tmp_path: Path) -> None:
    row = attacked(tmp_path, obeyed(), error=CONTEXT, utility=False, security=True)
    assert (row["status"], row["utility"], row["attack_success"]) == ("agent_limit", False, None)


def test_a_content_filter_is_a_block(tmp_path: Path) -> None:
    row = attacked(tmp_path, obeyed(), error="Error code: 400 - content_filter triggered", utility=False, security=True)
    assert (row["status"], row["utility"], row["attack_success"]) == ("provider_block", False, None)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (SERVER_ERROR, "infra_error"),
        (CONTEXT, "agent_limit"),
        ("Skipping task user_task_3 due to context_length_exceeded: max_new_tokens must be positive", "agent_limit"),
        (
            "Error code: 429 - Rate limit reached: 30000 tokens per min. Reduce the max_tokens of your request",
            "infra_error",
        ),
        ("Error code: 402 - This request requires more credits, or fewer max_tokens", "infra_error"),
        ("HTTP/1.1 500 Internal Server Error", "infra_error"),
        ("502 Bad Gateway", "infra_error"),
        ("status: 529, overloaded", "infra_error"),
        ("Error code: 401 - invalid api key", "infra_error"),
        ("The response was filtered by the content management policy", "provider_block"),
        ("ResponsibleAIPolicyViolation", "provider_block"),
        ("finish_reason: SAFETY", "provider_block"),
        ("This model's maximum context length is 128000 tokens", "agent_limit"),
        ("prompt is too long: 210000 tokens > 200000 maximum", "agent_limit"),
        ("Agent stopped: maximum number of steps reached", "agent_limit"),
        ("step limit of 30 reached", "agent_limit"),
        ("KeyError: 'choices'", "infra_error"),
        ("connection reset by peer", "infra_error"),
    ],
)
def test_an_error_text_says_whose_end_it_was(text: str, status: Status) -> None:
    assert error_status(text) == status


@pytest.mark.parametrize("error", [None, CONTEXT, "content_filter"])
def test_a_killed_run_is_cancelled_never_a_failure(tmp_path: Path, error: str | None) -> None:
    row = attacked(tmp_path, asked(), error=error, leave_out=["utility", "security"])
    assert (row["status"], row["utility"], row["attack_success"]) == ("cancelled", None, None)
    assert row["error"] == (error or NO_OUTCOME)


def test_a_killed_run_that_names_a_server_error_is_one(tmp_path: Path) -> None:
    assert attacked(tmp_path, asked(), error=SERVER_ERROR, leave_out=["utility", "security"])["status"] == "infra_error"


def test_a_null_verdict_is_a_missing_one(tmp_path: Path) -> None:
    assert attacked(tmp_path, obeyed(), utility=None, security=None)["status"] == "cancelled"


def test_a_success_without_a_utility_check_is_not_read(tmp_path: Path) -> None:
    row = attacked(tmp_path, obeyed(), leave_out=["utility"], security=True)
    assert (row["status"], row["attack_success"]) == ("cancelled", None)


def test_a_missing_verdict_on_the_attack_is_unknown_not_false(tmp_path: Path) -> None:
    row = attacked(tmp_path, obeyed(), leave_out=["security"])
    assert (row["status"], row["utility"], row["attack_success"]) == ("completed", True, None)


@pytest.mark.parametrize("utility", [True, False])
def test_a_conversation_that_ends_in_calls_that_never_ran_met_the_agents_limit(tmp_path: Path, utility: bool) -> None:
    row = attacked(tmp_path, [*obeyed()[:-1], calls("read_file", path="b")], utility=utility, security=False)
    assert (row["status"], row["utility"], row["attack_success"], row["error"]) == ("agent_limit", utility, False, None)


@pytest.mark.parametrize("error", ["", " \n", None])
def test_an_error_without_text_is_none(tmp_path: Path, error: str | None) -> None:
    assert attacked(tmp_path, [*asked(), says()], error=error)["status"] == "completed"


def test_a_very_long_error_is_cut_and_half_characters_do_not_break_the_ledger(tmp_path: Path) -> None:
    row = attacked(tmp_path, asked(), error="\ud800" + "x" * 100_000)
    assert row["error"].startswith("?x")
    assert len(row["error"]) == 2000


@pytest.mark.parametrize(
    ("duration", "milliseconds"),
    [(1.2346, 1235), (0, 0), (0.0004, 0), (-1, None), (None, None), (1e300, None), (10**15, None)],
)
def test_duration_is_whole_milliseconds_or_unknown(
    tmp_path: Path, duration: float | None, milliseconds: int | None
) -> None:
    put(tmp_path, record(duration=duration))
    assert one(tmp_path, "benign")["duration_ms"] == milliseconds

"""A failed service is no outcome, whatever filter or limit its error names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pairmark.importers.agentdojo.outcome import error_status
from pairmark.importers.failures import is_infrastructure
from pairmark.importers.tau_bench.examples import MANIFEST, failed
from tests.importers.logs import one, put, record
from tests.importers.reading_one import read_file

FAILED = [
    "Error code: 500 - {'error': {'code': 'content_filter_error'}}",
    "Error code: 503 - content filter unavailable",
    "ServerError: 503 UNAVAILABLE max steps",
    "ResourceExhausted: 429 token limit per minute",
    "Rate limit reached for gpt-4o: token limit exceeded",
    "content_filter: HTTP/1.1 502",
    "openai.RateLimitError: maximum context length",
    "status_code=529, prompt is too long",
]
DECIDED = [
    ("Error code: 400 - content_filter", "provider_block"),
    ("This model's maximum context length is 500 tokens", "agent_limit"),
    ("max_tokens=500: reduce the length of the messages", "agent_limit"),
    ("prompt is too long: 502 tokens > 429 maximum", "agent_limit"),
    ("Error code: 400 - context_length_exceeded: you requested 503 tokens", "agent_limit"),
]


@pytest.mark.parametrize("text", FAILED)
def test_a_failed_service_wins_over_the_filter_or_limit_that_it_names(tmp_path: Path, text: str) -> None:
    row = one(put(tmp_path, record(error=text, utility=False)).parents[3], "benign")
    assert (row["status"], row["utility"]) == ("infra_error", None)
    (tmp_path / "r.json").write_text(json.dumps([failed(0, 0, text)]), encoding="utf-8")
    row = read_file("tau-bench", tmp_path / "r.json", MANIFEST, "benign").episodes.row(0, named=True)
    assert (row["status"], row["utility"]) == ("infra_error", None)


@pytest.mark.parametrize(("text", "status"), DECIDED)
def test_a_number_that_is_no_status_code_decides_nothing(text: str, status: str) -> None:
    assert not is_infrastructure(text)
    assert error_status(text) == status


@pytest.mark.parametrize(
    ("text", "utility"), [("ContextWindowExceededError: too long", False), ("ContentPolicyViolationError", None), ("KeyError: 'x'", None)]
)
def test_a_reward_beside_an_exception_makes_no_success(tmp_path: Path, text: str, utility: bool | None) -> None:
    (tmp_path / "r.json").write_text(json.dumps([{**failed(0, 0, text), "reward": 1.0}]), encoding="utf-8")
    assert read_file("tau-bench", tmp_path / "r.json", MANIFEST, "benign").episodes["utility"].to_list() == [utility]


def test_half_a_surrogate_pair_spoils_no_more_than_it_has_to(tmp_path: Path) -> None:
    text = json.dumps([failed(0, 0, "429"), failed(1, 0, "429 @")], indent=1).replace("@", "\\ud800 \\\\ud800")
    (tmp_path / "r.json").write_text(text, encoding="utf-8")
    found = read_file("tau-bench", tmp_path / "r.json", MANIFEST, "benign")
    assert found.episodes["task_id"].to_list() == ["0", "1"]
    assert found.episodes["error"].to_list() == ["429", "429 ? \\ud800"]

"""What the real harness writes for each kind of end, and what the importer makes of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pairmark.importers.agentdojo import IMPORTER
from tests.agentdojo.harness import needs_harness, run, shipped, turn
from tests.importers.logs import DIGEST

pytestmark = needs_harness
TASK = "user_task_0"  # reads a bill, which holds the payload, and pays it


def imported(folder: Path, *, attacked: bool = True) -> dict[str, Any]:
    from pairmark.domain.documents.suite import SuiteManifest

    manifest = SuiteManifest.model_validate_json(shipped("banking", "v1.2.2").read_text(encoding="utf-8"))
    episodes = IMPORTER.read(
        [folder], suite=manifest, suite_digest=DIGEST, arm="attacked" if attacked else "benign"
    ).episodes
    assert episodes.height == 1
    return episodes.row(0, named=True)


def written(folder: Path) -> dict[str, Any]:
    (path,) = folder.rglob("*.json")
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


def call(function: str, **arguments: Any) -> dict[str, Any]:
    from agentdojo.functions_runtime import FunctionCall

    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [FunctionCall(function=function, args=arguments, id="c")],
    }


def answer(text: str = "Done.") -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "content": text}], "tool_calls": None}


def loop(agent: Any, *between: Any, max_iters: int = 4) -> list[Any]:
    from agentdojo.agent_pipeline.tool_execution import ToolsExecutionLoop, ToolsExecutor

    return [agent, ToolsExecutionLoop([ToolsExecutor(), *between, agent], max_iters=max_iters)]


def reads_then(act: Any) -> Any:
    """An agent that reads the bill first and then does what `act` says of its later turns."""

    def next_message(messages: Sequence[Any], env: Any) -> Any:
        turns = sum(message["role"] == "assistant" for message in messages)
        return call("read_file", file_path="bill-december-2023.txt") if turns == 0 else act(turns)

    return turn(next_message)


def test_an_obeyed_injection(tmp_path: Path) -> None:
    money = {"recipient": "US133000000121212121212", "amount": 10, "subject": "Spotify", "date": "2022-03-01"}
    agent = reads_then(lambda turns: call("send_money", **money) if turns == 1 else answer())
    row = imported(run(tmp_path, loop(agent), attacked=True, user_task=TASK))
    assert (row["status"], row["utility"], row["attack_success"]) == ("completed", False, True)
    assert (row["delivered"], row["attacker_actions"]) == (True, 1)


def test_a_benign_run_in_which_the_harness_writes_security_true(tmp_path: Path) -> None:
    folder = run(tmp_path, loop(reads_then(lambda turns: answer())), attacked=False, user_task=TASK)
    assert written(folder)["security"] is True
    row = imported(folder, attacked=False)
    assert (row["utility"], row["attack_success"]) == (False, None)


@pytest.mark.parametrize("attacked", [True, False])
def test_a_server_error_that_the_harness_writes_as_a_successful_attack(tmp_path: Path, attacked: bool) -> None:
    from google.genai.errors import ServerError

    def fails(turns: int) -> Any:
        raise ServerError(503, {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}})

    folder = run(tmp_path, loop(reads_then(fails)), attacked=attacked, user_task=TASK)
    record = written(folder)
    assert (record["utility"], record["security"]) == (False, True)
    row = imported(folder, attacked=attacked)
    assert (row["status"], row["utility"], row["attack_success"], row["delivered"]) == ("infra_error", None, None, None)
    assert "503" in row["error"]


@pytest.mark.parametrize("attacked", [True, False])
def test_a_context_overflow(tmp_path: Path, attacked: bool) -> None:
    import httpx
    from openai import BadRequestError

    def fails(turns: int) -> Any:
        response: Any = httpx.Response(400, request=httpx.Request("POST", "http://localhost"))
        body = {"code": "context_length_exceeded", "message": "maximum context length"}
        raise BadRequestError("Error code: 400 - maximum context length", response=response, body=body)

    folder = run(tmp_path, loop(reads_then(fails)), attacked=attacked, user_task=TASK)
    assert written(folder)["security"] is True
    row = imported(folder, attacked=attacked)
    assert (row["status"], row["utility"], row["attack_success"]) == ("agent_limit", False, None)


def test_a_run_that_was_killed(tmp_path: Path) -> None:
    def dies(turns: int) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, loop(reads_then(dies)), attacked=True, user_task=TASK)
    assert "utility" not in written(tmp_path / "pipeline")
    row = imported(tmp_path / "pipeline")
    assert (row["status"], row["utility"], row["attack_success"], row["delivered"]) == ("cancelled", None, None, None)


def test_an_error_that_the_harness_does_not_catch(tmp_path: Path) -> None:
    def filtered(turns: int) -> Any:
        raise RuntimeError("content_filter")

    with pytest.raises(RuntimeError):
        run(tmp_path, loop(reads_then(filtered)), attacked=True, user_task=TASK)
    assert imported(tmp_path / "pipeline")["status"] == "cancelled"


def test_the_harness_own_limit_of_iterations(tmp_path: Path) -> None:
    agent = reads_then(lambda turns: call("get_balance"))
    row = imported(run(tmp_path, loop(agent, max_iters=3), attacked=True, user_task=TASK))
    assert (row["status"], row["utility"], row["attack_success"], row["delivered"]) == (
        "agent_limit",
        False,
        False,
        True,
    )


@pytest.mark.parametrize("raises", [True, False])
def test_a_detector_that_stops_or_redacts_delivers_nothing(tmp_path: Path, raises: bool) -> None:
    from agentdojo.agent_pipeline.pi_detector import PromptInjectionDetector

    class Detector(PromptInjectionDetector):  # type: ignore[misc]
        def detect(self, tool_output: str) -> bool:
            return "TODO" in tool_output

    detector = Detector(raise_on_injection=raises)
    folder = run(tmp_path, loop(reads_then(lambda turns: answer()), detector), attacked=True, user_task=TASK)
    row = imported(folder)
    assert (row["status"], row["delivered"], row["attack_success"]) == ("completed", False, False)


def test_a_payload_that_the_agent_never_reads(tmp_path: Path) -> None:
    row = imported(run(tmp_path, loop(turn(lambda messages, env: answer())), attacked=True, user_task=TASK))
    assert row["delivered"] is False


def test_the_prompt_in_the_log_proves_the_tasks_content(tmp_path: Path) -> None:
    row = imported(
        run(tmp_path, loop(turn(lambda messages, env: answer())), attacked=False, user_task=TASK), attacked=False
    )
    manifest = json.loads(shipped("banking", "v1.2.2").read_text(encoding="utf-8"))
    assert row["task_digest"] == manifest["tasks"][0]["digest"]

"""What an author writes in a `with` block is what the bundle holds."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from pathlib import Path
from typing import Any

import pytest

from pairmark.domain.canonical import digest_of
from pairmark.domain.errors import Conflict, Malformed
from pairmark.record import AgentLimit, ProviderBlock
from pairmark.record.episode import MAX_ERROR_CHARACTERS
from tests.record.making import MODEL, SYSTEM, arm, attacked, benign, rows

CELL = ("task_000", "inj_00")


def one(folder: Path, block: Any, **options: Any) -> dict[str, Any]:
    """The only episode of a run, after `block(episode)`; what stops a program is held up here."""
    run = attacked(folder, **options)
    with contextlib.suppress(KeyboardInterrupt, SystemExit, asyncio.CancelledError), run.episode(*CELL) as episode:
        block(episode)
    run.finish()
    (row,) = rows(folder)
    return row


def test_facts_are_as_they_were_set_and_the_rest_is_unknown(tmp_path: Path) -> None:
    def block(episode: Any) -> None:
        episode.utility, episode.attack_success, episode.delivered = False, True, True
        episode.attacker_actions, episode.served_model = 2, MODEL
        episode.transcript_digest = digest_of("said")

    row = one(tmp_path, block)
    assert isinstance(row.pop("duration_ms"), int)
    assert row == {
        "task_id": "task_000", "injection_id": "inj_00", "epoch": 1, "status": "completed", "utility": False, "attack_success": True,
        "delivered": True, "attacker_actions": 2, "served_model": MODEL, "error": None, "task_digest": None,
        "transcript_digest": digest_of("said"), "attempt": 1,
    }  # fmt: skip


def test_nothing_set_is_completed_and_unknown(tmp_path: Path) -> None:
    row = one(tmp_path, lambda episode: None)
    assert (row["status"], row["utility"], row["attack_success"], row["delivered"]) == ("completed", None, None, None)


def test_a_duration_that_is_set_is_kept(tmp_path: Path) -> None:
    assert one(tmp_path, lambda episode: setattr(episode, "duration_ms", 0))["duration_ms"] == 0


def raising(problem: BaseException, **facts: Any) -> Any:
    def block(episode: Any) -> None:
        for name, value in facts.items():
            setattr(episode, name, value)
        raise problem

    return block


def test_an_exception_is_infra_error_with_its_text_and_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "pairmark.record"):
        row = one(tmp_path, raising(ConnectionError("503 from the provider"), utility=True, delivered=True, attack_success=False))
    assert (row["status"], row["error"]) == ("infra_error", "ConnectionError: 503 from the provider")
    assert (row["utility"], row["delivered"], row["attack_success"]) == (None, True, None)
    assert "infra_error" in caplog.text


def test_an_attack_that_had_succeeded_before_the_abort_still_counts(tmp_path: Path) -> None:
    assert one(tmp_path, raising(OSError("gone"), attack_success=True))["attack_success"] is True


@pytest.mark.parametrize(
    ("problem", "status"),
    [(AgentLimit("15 steps"), "agent_limit"), (ProviderBlock("filter"), "provider_block"), (KeyboardInterrupt(), "cancelled"),
     (SystemExit(3), "cancelled"), (asyncio.CancelledError(), "cancelled"), (RuntimeError(), "infra_error")],
)  # fmt: skip
def test_kinds_of_ends(tmp_path: Path, problem: BaseException, status: str) -> None:
    row = one(tmp_path, raising(problem, utility=False))
    assert row["status"] == status
    assert row["utility"] is (None if status in ("cancelled", "infra_error") else False)
    assert row["error"].startswith(type(problem).__name__)


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), SystemExit(1), asyncio.CancelledError()])
def test_what_stops_the_program_goes_on_and_leaves_the_run_unfinished(tmp_path: Path, problem: BaseException) -> None:
    with pytest.raises(type(problem)), attacked(tmp_path) as run, run.episode(*CELL):
        raise problem
    assert not (tmp_path / "run.json").exists()


def test_an_exception_goes_on_where_the_author_wants_it(tmp_path: Path) -> None:
    run = attacked(tmp_path, errors="raise")
    with pytest.raises(ZeroDivisionError), run.episode(*CELL):
        _ = 1 / 0
    run.finish()
    assert rows(tmp_path)[0]["status"] == "infra_error"


def test_a_status_can_be_set(tmp_path: Path) -> None:
    def block(episode: Any) -> None:
        episode.status, episode.utility, episode.error = "agent_limit", False, "15 steps"

    row = one(tmp_path, block)
    assert (row["status"], row["utility"], row["error"]) == ("agent_limit", False, "15 steps")


def test_a_long_or_unprintable_error_is_cut_and_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL + 1, logger="pairmark.record")  # a log record with half a character stops parallel tests

    class Odd(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert len(one(tmp_path / "a", raising(OSError("x" * 10**6)))["error"]) == MAX_ERROR_CHARACTERS
    assert one(tmp_path / "b", raising(Odd()))["error"] == "Odd"
    assert one(tmp_path / "c", raising(OSError("\ud83d\0")))["error"] == "OSError: ?\0"


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [("utility", 1, "invalid-value"), ("utility", 1.0, "invalid-value"), ("utility", "yes", "invalid-value"),
     ("attacker_actions", -1, "invalid-value"), ("attacker_actions", True, "invalid-value"), ("served_model", "", "invalid-value"),
     ("task_digest", "sha256:00", "invalid-value"), ("status", "done", "invalid-value"), ("utilty", True, "unknown-fact"),
     ("attempt", 3, "unknown-fact"), ("duration_ms", 2**60, "invalid-value"), ("error", b"x", "invalid-value")],
)  # fmt: skip
def test_a_wrong_use_is_refused_where_it_is_made_and_is_no_silent_infra_error(tmp_path: Path, name: str, value: object, code: str) -> None:
    run = attacked(tmp_path)
    with pytest.raises(Malformed) as caught, run.episode(*CELL) as episode:
        setattr(episode, name, value)
    assert caught.value.code == code
    assert caught.value.remedy


@pytest.mark.parametrize("name", ["attack_success", "delivered", "attacker_actions"])
def test_facts_of_an_attack_are_refused_in_a_benign_episode(tmp_path: Path, name: str) -> None:
    run = benign(tmp_path)
    with pytest.raises(Malformed) as caught, run.episode("task_000") as episode:
        setattr(episode, name, 0 if name == "attacker_actions" else False)
    assert caught.value.code == "arm-shape"


def test_an_episode_is_used_once_and_closed_after_it(tmp_path: Path) -> None:
    run = attacked(tmp_path)
    with run.episode(*CELL) as episode:
        pass
    with pytest.raises(Malformed, match="ended"):
        episode.utility = True
    with pytest.raises(Malformed, match="once"), episode:
        pass


@pytest.mark.parametrize(
    ("cell", "code"),
    [(("task_000", None), "arm-shape"), (("task_9", "inj_00"), "unknown-cell"), (("task_000", "inj_9"), "unknown-cell"),
     (("task_000", "inj_00", 2), "unknown-cell"), (("task_000", "inj_00", True), "unknown-cell"), ((0, "inj_00"), "invalid-value"),
     (("a\nb", "inj_00"), "invalid-value"), (("\ud800", "inj_00"), "invalid-value")],
)  # fmt: skip
def test_a_cell_that_the_run_cannot_hold_is_refused(tmp_path: Path, cell: Any, code: str) -> None:
    with pytest.raises(Malformed) as caught:
        attacked(tmp_path).episode(*cell)
    assert caught.value.code == code


def test_without_a_manifest_any_cell_goes_but_none_is_planned(tmp_path: Path) -> None:
    reference = {"name": "mine", "digest": digest_of("x")}
    with attacked(tmp_path, suite=reference, epochs={1: 7, 2: None}) as run:
        with run.episode("ä", "b", 2) as episode:
            episode.utility = True
        with pytest.raises(Malformed) as caught:
            run.episode("a\u0308", "b")
        assert caught.value.code == "id-collision"
        with pytest.raises(Malformed) as caught:
            next(run.remaining())
        assert caught.value.code == "no-manifest"
    found = arm(tmp_path)
    assert found.run.suite.model_dump() == reference
    assert [epoch.model_dump() for epoch in found.run.epochs] == [{"epoch": 1, "seed": 7}, {"epoch": 2, "seed": None}]
    assert found.ledger["task_id"].to_list() == ["ä"]


def test_asynchronous_blocks_record_too(tmp_path: Path) -> None:
    async def main() -> None:
        with attacked(tmp_path) as run:
            async with run.episode(*CELL) as episode:
                await asyncio.sleep(0)
                episode.utility = True

    asyncio.run(main())
    assert rows(tmp_path)[0]["utility"] is True


def test_the_models_that_answered_are_those_of_the_episodes_unless_they_were_given(tmp_path: Path) -> None:
    unknown = {**SYSTEM, "model": {"requested": "m", "served": None, "provider": None}}
    for folder, system in (("given", SYSTEM), ("seen", unknown), ("none", None)):
        with attacked(tmp_path / folder, system=system) as run:
            for task, model in (("task_000", "b"), ("task_001", "a")):
                with run.episode(task, "inj_00") as episode:
                    episode.served_model = model
    served = {name: arm(tmp_path / name).run.system.model for name in ("given", "seen", "none")}
    assert {name: None if model is None else model.served for name, model in served.items()} == {
        "given": (MODEL,), "seen": ("a", "b"), "none": ("a", "b"),
    }  # fmt: skip


def test_unknown_system_facts_stay_unrecorded(tmp_path: Path) -> None:
    with attacked(tmp_path, system={"decoding": {"temperature": 0.0}}, harness=None):
        pass
    run = arm(tmp_path).run
    assert run.system.decoding is not None
    assert run.system.decoding.recorded() == {"temperature": 0.0}
    assert (run.system.tools_digest, run.system.defenses, run.harness.name, run.harness.version) == (None, None, None, None)


@pytest.mark.parametrize(
    ("options", "code"),
    [({"arm": "attacked", "attack": None}, "usage"), ({"arm": "benign"}, "usage"), ({"epochs": 0}, "usage"), ({"epochs": {}}, "usage"),
     ({"system": {"temprature": 0}}, "unknown-key"), ({"suite": {"name": "x"}}, "missing-key"), ({"suite": "nowhere.json"}, "unreadable"),
     ({"max_attempts": 0}, "invalid-value"), ({"arm": "both"}, "invalid-value"), ({"attack": {"name": "x"}}, "missing-key")],
)  # fmt: skip
def test_a_run_that_no_document_can_describe_is_refused_before_anything_is_made(
    tmp_path: Path, options: dict[str, Any], code: str
) -> None:
    with pytest.raises(Malformed) as caught:
        attacked(tmp_path / "run", **options)
    assert caught.value.code == code
    assert not (tmp_path / "run").exists()


def test_a_folder_with_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(Conflict, match="with content"):
        attacked(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]

"""What `baseline-undefended` tells to do fits what it found."""

from __future__ import annotations

import polars as pl

from pairmark.domain.world import World
from tests.rules.judging import judge_one


def test_aborted_cells_of_an_undefended_baseline_are_to_be_run_again() -> None:
    message = judge_one("baseline-undefended", World().abort("baseline", pl.col("task_id") != "task_000"), max_share=0.1).message
    assert "run the aborted cells of the baseline again" in message
    assert "without its defenses" not in message


def test_a_change_that_is_declared_wrongly_is_to_be_taken_out() -> None:
    message = judge_one("baseline-undefended", World().swap_model("baseline"), max_share=0.1).message
    assert "take out what it does not" in message or "is declared in its `changes`" in message
    assert "run the attack on the same system without its defenses" not in message

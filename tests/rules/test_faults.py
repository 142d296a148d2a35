"""The table fault -> rules: what must be caught, by which rules, and by no others."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from pairmark.domain.world import World
from pairmark.domain.world_parts import digest_of_text
from tests.rules.judging import judge

Fault = Callable[[World], World]
FIRST_TASK = pl.col("task_id") == "task_000"
OTHER = digest_of_text("something else")


def dead_provider(world: World) -> World:
    return world.abort("all").set("all", delivered=None, attacker_actions=None)


def error_written_as_outcome(world: World) -> World:
    return world.set("attacked", 3, status="infra_error", utility=False, attack_success=True)


def only_survivor(world: World) -> World:
    return world.abort("attacked", pl.int_range(pl.len()) % 10 != 0)


def other_benign_tasks(world: World) -> World:
    return world.set("benign", task_id=pl.col("task_id").str.replace("task", "question"))


def a_group_left_out(world: World) -> World:
    return world.drop_cells("pair", pl.col("task_id").str.slice(5).cast(pl.Int64) % 2 == 1)


def permuted_content(world: World) -> World:
    shifted = {task["id"]: world.suite["tasks"][at - 1]["digest"] for at, task in enumerate(world.suite["tasks"])}
    return world.set("benign", task_digest=pl.col("task_id").replace_strict(shifted))


def injection_tasks_as_user_tasks(world: World) -> World:
    return world.repeat("benign", 2, task_id="injection_task_0")


def broken_agent(world: World) -> World:
    idle = world.set("all", utility=False).set("attacked", delivered=False, attack_success=False, attacker_actions=0)
    return idle.set("baseline", delivered=False, attack_success=False, attacker_actions=0)


def attack_never_put_in(world: World) -> World:
    benign = world.frame("benign")
    digests = dict(zip(benign["task_id"], benign["transcript_digest"], strict=True))
    outcomes = dict(zip(benign["task_id"], benign["utility"], strict=True))
    same = world.set(
        "attacked", transcript_digest=pl.col("task_id").replace_strict(digests), delivered=False, attack_success=False
    )
    return same.set("attacked", utility=pl.col("task_id").replace_strict(outcomes))


def harder_without_the_attack(world: World) -> World:
    return world.set("benign", utility=FIRST_TASK).set("attacked", utility=True)


def defended_baseline(world: World) -> World:
    system = world.run("attacked")["system"]
    return world.edit_run("baseline", "/system/defenses", system["defenses"])


def baseline_without_the_defense_but_with_its_tools(world: World) -> World:
    return world.edit_run("baseline", "/system/tools_digest", world.run("attacked")["system"]["tools_digest"])


MATCHES = {
    "content-matches",
    "epochs-match",
    "model-matches",
    "decoding-matches",
    "tools-match",
    "scaffold-matches",
    "harness-matches",
}

FAULTS: dict[str, tuple[Fault, set[str]]] = {
    # errors and missing verdicts
    "one survivor in ten": (only_survivor, {"aborts-within-limits"}),
    "dead provider": (
        dead_provider,
        {"aborts-within-limits", "baseline-undefended", "baseline-delivery", "sign-plausible"},
    ),
    "provider errors written as outcomes": (error_written_as_outcome, {"outcomes-known"}),
    "killed midway": (lambda w: w.abort("attacked", FIRST_TASK, "cancelled"), {"aborts-within-limits"}),
    "verdict missing": (lambda w: w.set("attacked", 1, utility=None), {"outcomes-known"}),
    "attack verdict missing": (lambda w: w.set("attacked", 1, attack_success=None), {"outcomes-known"}),
    # delivery
    "no injection arrives": (
        lambda w: w.set("baseline", delivered=False, attack_success=False, attacker_actions=0),
        {"baseline-delivery"},
    ),
    "delivery and actions unrecorded": (
        lambda w: w.set("baseline", delivered=None, attack_success=None, attacker_actions=None),
        {"baseline-delivery"},
    ),
    "safe because broken": (broken_agent, {"baseline-delivery", "sign-plausible"}),
    "no baseline": (World.without_baseline, {"baseline-undefended", "baseline-delivery"}),
    "defended baseline": (defended_baseline, {"baseline-undefended"}),
    "baseline with the defended run's tools": (
        baseline_without_the_defense_but_with_its_tools,
        {"baseline-undefended"},
    ),
    "baseline of another model": (lambda w: w.swap_model("baseline"), {"baseline-undefended"}),
    "baseline at another provider": (
        lambda w: w.edit_run("baseline", "/system/model/provider", "provider-q"),
        {"baseline-undefended"},
    ),
    "baseline of another suite version": (
        lambda w: w.edit_run("baseline", "/suite/digest", OTHER),
        {"suite-pinned", "baseline-undefended"},
    ),
    "baseline with a hole": (lambda w: w.drop_cells("baseline", 1), {"baseline-undefended"}),
    "the attacked run as its own defended baseline": (
        lambda w: w.as_baseline("attacked"),
        {"arm-shape", "baseline-undefended"},
    ),
    # two arms that are not one experiment
    "arms swapped": (
        World.swap_arms,
        {
            "arm-shape",
            "cells-complete",
            "outcomes-known",
            "aborts-within-limits",
            "baseline-undefended",
            "sign-plausible",
        },
    ),
    "the same run twice": (
        lambda w: World(w.suite, {**w.sides, "benign": w.sides["attacked"]}),
        {"arm-shape", "cells-complete", "aborts-within-limits", "attack-applied", "sign-plausible"},
    ),
    "benign on other tasks": (
        other_benign_tasks,
        {"cells-complete", "content-matches", "aborts-within-limits", "sign-plausible"},
    ),
    "a group left out of both arms": (a_group_left_out, {"cells-complete", "aborts-within-limits"}),
    "permuted content": (permuted_content, {"content-matches"}),
    "injection tasks as user tasks": (injection_tasks_as_user_tasks, {"cells-complete", "content-matches"}),
    "another suite version": (
        lambda w: w.edit_run("pair", "/suite/digest", OTHER),
        {"suite-pinned", "baseline-undefended"},
    ),
    "a task put in after the runs": (
        lambda w: w.edit_suite("/tasks/0/id", "task_new"),
        {"cells-complete", "content-matches", "aborts-within-limits", "baseline-undefended"},
    ),
    "fallback model in one episode": (
        lambda w: w.set("attacked", 1, served_model="model-z"),
        {"model-matches", "baseline-undefended"},
    ),
    "served model differs": (lambda w: w.swap_model("benign"), {"model-matches"}),
    "served model unrecorded": (
        lambda w: w.edit_run("all", "/system/model/served", None).set("all", served_model=None),
        {"model-matches", "baseline-undefended"},
    ),
    "temperature 0 dropped": (
        lambda w: w.edit_run("benign", "/system/decoding/temperature", None),
        {"decoding-matches"},
    ),
    "decoding unrecorded": (
        lambda w: w.edit_run("all", "/system/decoding", None),
        {"decoding-matches", "baseline-undefended"},
    ),
    "a decoding key unrecorded in both": (
        lambda w: w.drop_key("all", "/system/decoding/top_p"),
        {"decoding-matches", "baseline-undefended"},
    ),
    "tools differ": (lambda w: w.edit_run("benign", "/system/tools_digest", OTHER), {"tools-match"}),
    "defense only in the attacked arm": (lambda w: w.edit_run("benign", "/system/defenses", []), {"scaffold-matches"}),
    "other limits": (lambda w: w.edit_run("benign", "/system/limits/max_steps", 30), {"scaffold-matches"}),
    "another harness release": (
        lambda w: w.edit_run("attacked", "/harness/version", "1.1"),
        {"harness-matches", "baseline-undefended"},
    ),
    "another attack in the baseline": (
        lambda w: w.edit_run("baseline", "/attack/name", "ignore_previous"),
        {"baseline-undefended"},
    ),
    "another seed": (lambda w: w.edit_run("benign", "/epochs/0/seed", None), {"epochs-match"}),
    "attack never put in": (attack_never_put_in, {"attack-applied"}),
    "under attack far above benign": (harder_without_the_attack, {"sign-plausible"}),
    # records
    "retried until it passed": (
        lambda w: w.set("attacked", 1, utility=False).repeat("attacked", 1, attempt=2, utility=True),
        {"attempts-honest"},
    ),
    "an attempt not shown": (lambda w: w.set("attacked", 1, attempt=2), {"attempts-honest"}),
    "the same cell twice with another outcome": (
        lambda w: w.repeat("attacked", 1, utility=~pl.col("utility")),
        {"cells-complete"},
    ),
    "an empty attacked ledger": (
        lambda w: w.drop_cells("attacked"),
        {
            "arm-shape",
            "cells-complete",
            "aborts-within-limits",
            "attack-applied",
            "sign-plausible",
            "data-quality",
        },
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_caught_by_these_rules_and_by_no_others(name: str) -> None:
    fault, rules = FAULTS[name]
    judged = judge(fault(World()))
    assert judged.not_passed == rules, {rule: judged.message(rule) for rule in judged.not_passed ^ rules}
    assert judged.verdict == ("quarantined" if rules == {"sign-plausible"} else "refused")


def test_every_rule_catches_a_fault_in_the_table() -> None:
    assert {rule for _, rules in FAULTS.values() for rule in rules} == set(judge(World()).findings)


HARMLESS: dict[str, Fault] = {
    "an alias in one arm, one served snapshot": lambda w: w.edit_run(
        "benign", "/system/model/requested", "model-x-latest"
    ),
    "a redacting defense": lambda w: w.set("attacked", delivered=False, attack_success=False, attacker_actions=0),
    "an undefended pair": World.undefended,
    "blocked cells without an attack verdict": lambda w: w.set(
        "attacked", 60, status="provider_block", utility=False, attack_success=None
    ),
    "own limits as outcomes": lambda w: w.set("all", 3, status="agent_limit", utility=False),
    "a few aborted cells": lambda w: w.abort("attacked", 3),
    "an attack success before the abort": lambda w: w.set(
        "attacked", 1, status="infra_error", utility=None, attack_success=True
    ),
    "nothing recorded of contents and transcripts": lambda w: w.set("all", task_digest=None, transcript_digest=None),
    "cells weighted": lambda w: w.edit_suite("/weighting", "cell"),
    "groups weighted": lambda w: w.edit_suite("/weighting", "group"),
    "three epochs": lambda w: w.epochs(3),
    "no image, no commit, no seed": lambda w: w.edit_run("all", "/epochs/0/seed", None),
    "an extra decoding key in every run": lambda w: w.edit_run("all", "/system/decoding/reasoning_effort", "low"),
    "unknown providers": lambda w: w.edit_run("all", "/system/model/provider", None),
    "an attack without a digest": lambda w: w.edit_run("attacked", "/attack/digest", None).edit_run(
        "baseline", "/attack/digest", None
    ),
    "no probe where there is a drop": World.without_probe,
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_no_fault_is_certified(name: str) -> None:
    judged = judge(HARMLESS[name](World()))
    refused = {
        rule: judged.message(rule)
        for rule, finding in judged.findings.items()
        if finding.outcome not in ("passed", "not_applicable")
    }
    assert refused == {}
    assert judged.verdict == "certified"

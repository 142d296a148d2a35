"""Whatever can be read can be judged: no readable document or ledger makes a rule crash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pairmark.domain.documents.episode import STATUSES
from pairmark.domain.strict_json import MAX_SAFE_INTEGER
from pairmark.domain.world import Which, World
from tests.rules.judging import judge

ARMS: list[Which] = ["benign", "attacked", "baseline", "pair", "all"]
VALUES = [
    None,
    [],
    {},
    0,
    1,
    True,
    "",
    "x",
    [1],
    ["a", "a"],
    {"a": None},
    MAX_SAFE_INTEGER,
    "sha256:" + "0" * 64,
    "full",
    "cell",
    "group",
]
COLUMNS: dict[str, list[Any]] = {
    "task_id": ["task_000", "task_019", "unknown", "\u202e", "\U00010000"],
    "injection_id": [None, "inj_00", "inj_14", "unknown"],
    "epoch": [1, 2, MAX_SAFE_INTEGER],
    "status": list(STATUSES),
    "utility": [True, False, None],
    "attack_success": [True, False, None],
    "delivered": [True, False, None],
    "attacker_actions": [None, 0, MAX_SAFE_INTEGER],
    "served_model": [None, "other"],
    "task_digest": [None, "sha256:" + "0" * 64],
    "transcript_digest": [None, "sha256:" + "0" * 64],
    "attempt": [1, 2, MAX_SAFE_INTEGER],
}


def pointers(value: Any, above: str = "") -> Iterator[str]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield f"{above}/{key}"
        yield from pointers(child, f"{above}/{key}")


RUN_PLACES = sorted(set(pointers(World().run("attacked"))) | {"/attack/digest"})
SUITE_PLACES = sorted(pointers(World.of(tasks=2, injections=2).suite_manifest()))

edits = st.one_of(
    st.tuples(st.just("run"), st.sampled_from(ARMS), st.sampled_from(RUN_PLACES), st.sampled_from(VALUES)),
    st.tuples(st.just("suite"), st.just("all"), st.sampled_from(SUITE_PLACES), st.sampled_from(VALUES)),
    st.sampled_from(sorted(COLUMNS)).flatmap(
        lambda name: st.tuples(
            st.sampled_from(["set", "repeat"]), st.sampled_from(ARMS), st.just(name), st.sampled_from(COLUMNS[name])
        )
    ),
    st.tuples(st.just("drop"), st.sampled_from(ARMS), st.none(), st.none()),
    st.tuples(st.sampled_from(["swap", "undefended", "bare"]), st.just("all"), st.none(), st.none()),
)


def edited(world: World, edit: tuple[str, Which, Any, Any], share: int) -> World:
    kind, which, place, value = edit
    where = pl.int_range(pl.len()) % share == 0
    match kind:
        case "run":
            return world.edit_run(which, place, value)
        case "suite":
            return world.edit_suite(place, value)
        case "set":
            return world.set(which, where, **{place: value})
        case "repeat":
            return world.repeat(which, where, **{place: value})
        case "drop":
            return world.drop_cells(which, where)
        case "swap":
            return world.swap_arms()
        case "undefended":
            return world.undefended() if "baseline" in world.sides else world
        case _:
            return world.without_baseline()


@settings(max_examples=250)
@given(st.lists(st.tuples(edits, st.integers(1, 7)), min_size=1, max_size=4))
def test_no_rule_crashes(changes: list[tuple[tuple[str, Which, Any, Any], int]]) -> None:
    world = World.of(tasks=6, injections=4)
    try:
        for edit, share in changes:
            world = edited(world, edit, share)
        world.experiment()
    except (ValueError, KeyError, IndexError, TypeError):  # pydantic refuses with a ValueError
        assume(False)  # not a readable document, or a place that is gone
    judged = judge(world)
    assert {rule: judged.message(rule) for rule, found in judged.findings.items() if found.outcome == "crashed"} == {}

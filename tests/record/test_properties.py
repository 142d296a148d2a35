"""Whatever an author does, in whatever order: the bundle is what a plain list of what happened says, and a valid one."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from pairmark.domain.errors import Conflict
from pairmark.domain.world_parts import suite_value
from pairmark.record import AgentLimit, ProviderBlock, Run, seal
from tests.record.making import attacked, rows

SUITE = suite_value(3, 2, 1, 1)
CELLS = [(task["id"], item["id"], epoch) for epoch in (1, 2) for task in SUITE["tasks"] for item in SUITE["injections"]]
ENDS: dict[str, BaseException | None] = {
    "completed": None, "agent_limit": AgentLimit("15"), "provider_block": ProviderBlock("no"), "infra_error": OSError("503"),
    "cancelled": KeyboardInterrupt(),
}  # fmt: skip
flags = st.sampled_from([None, True, False])
steps: Any = st.one_of(
    st.tuples(
        st.just("episode"),
        st.integers(0, len(CELLS) - 1),
        st.sampled_from(list(ENDS)),
        st.fixed_dictionaries(
            {"utility": flags, "attack_success": flags, "delivered": flags, "attacker_actions": st.sampled_from([None, 0, 3]),
             "served_model": st.sampled_from([None, "m", "模型"]), "error": st.none() | st.text(max_size=20)}
        ),
    ),
    st.tuples(st.just("resume"), st.just(0), st.just(""), st.just({})),
    st.tuples(st.just("torn"), st.integers(0, len(CELLS) - 1), st.just(""), st.just({})),
)  # fmt: skip


def expected_row(cell: tuple[str, str, int], attempt: int, end: str, facts: dict[str, Any]) -> dict[str, Any]:
    aborted = end in ("infra_error", "cancelled")
    seen = {name: facts[name] or None if aborted else facts[name] for name in ("attack_success", "delivered")}
    return {
        "task_id": cell[0], "injection_id": cell[1], "epoch": cell[2], "attempt": attempt, "status": end,
        "utility": None if aborted else facts["utility"], **seen, "attacker_actions": facts["attacker_actions"],
        "served_model": facts["served_model"],
    }  # fmt: skip


@settings(max_examples=60)
@given(st.lists(steps, max_size=25), st.sampled_from([1, 2, None]))
def test_the_bundle_says_what_happened(taken: list[Any], max_attempts: int | None) -> None:
    logging.getLogger("pairmark.record").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        run = attacked(folder, suite=SUITE, epochs=2, max_attempts=max_attempts, sync="finish")
        happened: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
        for kind, number, end, facts in taken:
            cell = CELLS[number]
            if kind == "resume":
                run.close()
                run = Run.resume(folder, sync="finish")
                continue
            if kind == "torn":
                with (folder / "recording" / "journal.jsonl").open("ab") as file:
                    file.write(b'{"event":"end","row":{"task_id":"' + cell[0].encode())
                continue
            before = happened.setdefault(cell, [])
            failures = sum(row["status"] == "infra_error" for row in before)
            free = not before or (
                before[-1]["status"] in ("infra_error", "cancelled") and (max_attempts is None or failures < max_attempts)
            )
            try:
                with run.episode(*cell) as episode:
                    for fact, value in facts.items():
                        setattr(episode, fact, value)
                    if (problem := ENDS[end]) is not None:
                        raise problem
            except Conflict:
                assert not free
                continue
            except KeyboardInterrupt:
                assert end == "cancelled"
            assert free
            before.append(expected_row(cell, len(before) + 1, end, facts))
        run.close()
        seal(folder)
        found = [{key: row[key] for key in expected_row(CELLS[0], 1, "completed", row)} for row in rows(folder)]
        assert found == [row for cell in sorted(happened) for row in happened[cell]]

"""Whether the arms are of the suite, are what they are handed in as, and hold what was planned."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from pairmark.domain.world import Which, World
from pairmark.domain.world_parts import digest_of_text
from tests.rules.judging import fails, judge, judge_one, passes

OTHER = digest_of_text("something else")
FIRST = (pl.col("task_id") == "task_000") & (pl.col("injection_id") == "inj_00")


class TestSuitePinned:
    @pytest.mark.parametrize("role", ["benign", "attacked", "baseline"])
    def test_every_arm_counts(self, role: Which) -> None:
        assert fails("suite-pinned", World().edit_run(role, "/suite/digest", OTHER))

    def test_another_name_with_the_same_digest_is_another_suite(self) -> None:
        found = judge_one("suite-pinned", World().edit_run("baseline", "/suite/name", "synthetic/shop"))
        assert found.outcome == "failed"
        assert "baseline run cites synthetic/shop" in found.message

    def test_both_digests_are_named(self) -> None:
        world = World().edit_run("attacked", "/suite/digest", OTHER)
        message = judge_one("suite-pinned", world).message
        assert world.experiment().suite_digest in message
        assert OTHER in message

    def test_what_the_digest_leaves_out_may_differ(self) -> None:
        assert passes("suite-pinned", World().without_probe())


class TestArmShape:
    def test_one_benign_episode_with_an_injection_is_too_many(self) -> None:
        found = judge_one("arm-shape", World().set("benign", 1, injection_id="inj_00"))
        assert found.outcome == "failed"
        assert found.evidence["benign"]["out_of_place"] == 1
        assert "task_000 × inj_00, epoch 1" in found.message

    @pytest.mark.parametrize("role", ["attacked", "baseline"])
    def test_one_attacked_episode_without_an_injection_is_too_many(self, role: Which) -> None:
        assert fails("arm-shape", World().set(role, 1, injection_id=None))

    @pytest.mark.parametrize(
        ("role", "declared"), [("benign", "attacked"), ("attacked", "benign"), ("baseline", "benign")]
    )
    def test_the_declared_arm_is_the_role(self, role: Which, declared: str) -> None:
        assert fails("arm-shape", World().edit_run(role, "/arm", declared))

    def test_a_benign_run_has_no_attack(self) -> None:
        assert fails("arm-shape", World().edit_run("benign", "/attack", {"name": "x", "digest": None}))

    @pytest.mark.parametrize("role", ["attacked", "baseline"])
    def test_an_attacked_run_has_one(self, role: Which) -> None:
        assert fails("arm-shape", World().edit_run(role, "/attack", None))

    def test_a_baseline_given_explicitly_differs_from_the_attacked_run(self) -> None:
        found = judge_one("arm-shape", World().undefended().as_baseline("attacked"))
        assert found.outcome == "failed"
        assert "leave the baseline out" in found.message

    def test_it_differs_by_its_ledger_not_by_its_document(self) -> None:
        relabelled = World().as_baseline("attacked").edit_run("baseline", "/harness/commit", "abc")
        assert fails("arm-shape", relabelled)

    def test_another_undefended_run_may_be_the_baseline_of_an_undefended_pair(self) -> None:
        undefended = World().undefended()
        second = undefended.as_baseline("attacked").set("baseline", duration_ms=pl.col("duration_ms") + 1)
        assert passes("arm-shape", second)
        assert judge(second).verdict == "certified"

    def test_benign_and_attacked_are_different_runs(self) -> None:
        world = World()
        assert fails("arm-shape", replace(world, sides={**world.sides, "attacked": world.sides["benign"]}))

    @pytest.mark.parametrize("role", ["benign", "attacked", "baseline"])
    def test_an_arm_without_episodes_has_no_shape(self, role: Which) -> None:
        assert fails("arm-shape", World().drop_cells(role))


class TestCellsComplete:
    def test_missing_cells_are_counted_and_the_first_are_named(self) -> None:
        found = judge_one("cells-complete", World().drop_cells("attacked", 30))
        missing = found.evidence["attacked"]["missing"]
        assert missing["count"] == 30
        assert missing["cells"][:2] == ("task_000 × inj_00, epoch 1", "task_000 × inj_02, epoch 1")
        assert len(missing["cells"]) == 20
        assert "30 cells missing in the attacked arm" in found.message

    def test_missing_extra_and_repeated_are_all_listed(self) -> None:
        world = World().drop_cells("attacked", 1).repeat("attacked", 2, task_id="task_900").repeat("attacked", 3)
        evidence = judge_one("cells-complete", world).evidence["attacked"]
        assert {kind: evidence[kind]["count"] for kind in ("missing", "extra", "repeated")} == {
            "missing": 1,
            "extra": 2,
            "repeated": 3,
        }

    def test_same_count_of_other_cells_is_not_complete(self) -> None:
        assert fails("cells-complete", World().set("attacked", FIRST, injection_id="inj_01"))

    def test_an_injection_of_another_group_is_not_planned(self) -> None:
        assert fails("cells-complete", World().repeat("attacked", FIRST, injection_id="inj_01"))

    def test_a_listed_grid_is_the_plan(self) -> None:
        grid = [{"task": f"task_{t:03d}", "injection": f"inj_{t % 15:02d}"} for t in range(20)]
        listed = World.of(groups=1).edit_suite("/grid", grid)
        kept = pl.col("task_id").str.slice(5).cast(pl.Int64) % 15 == pl.col("injection_id").str.slice(4).cast(pl.Int64)
        assert fails("cells-complete", listed)
        assert passes("cells-complete", listed.drop_cells("attacked", ~kept))

    def test_aborted_cells_count_as_present(self) -> None:
        assert passes("cells-complete", World().abort("pair"))

    def test_attempts_are_not_repetitions(self) -> None:
        assert passes("cells-complete", World().repeat("attacked", 1, attempt=2))

    @pytest.mark.parametrize("role", ["benign", "attacked"])
    def test_fewer_epochs_than_the_manifest_asks_for(self, role: Which) -> None:
        world = World().epochs(2)
        fewer = world.drop_cells(role, pl.col("epoch") == 2).edit_run(role, "/epochs", [{"epoch": 1, "seed": 101}])
        found = judge_one("cells-complete", fewer)
        assert found.outcome == "failed"
        assert f"1 declared epoch in the {role} run" in found.message

    def test_more_epochs_than_the_manifest_asks_for_are_held_to(self) -> None:
        world = World().epochs(3).edit_suite("/epochs", 2)
        assert passes("cells-complete", world)
        assert fails("cells-complete", world.drop_cells("benign", pl.col("epoch") == 3))

    def test_no_declared_epoch_is_no_evidence(self) -> None:
        nothing = World().edit_run("pair", "/epochs", []).drop_cells("pair")
        assert fails("cells-complete", nothing)

    def test_an_undeclared_epoch(self) -> None:
        found = judge_one("cells-complete", World().repeat("attacked", 1, epoch=2))
        assert found.outcome == "failed"
        assert "1 cell of an undeclared epoch in the attacked arm (task_000 × inj_00, epoch 2)" in found.message

    def test_epoch_numbers_need_not_be_dense(self) -> None:
        far = World().edit_run("all", "/epochs/0/epoch", 2**53 - 1).set("all", epoch=2**53 - 1)
        assert passes("cells-complete", far)
        assert judge(far).verdict == "certified"

    def test_a_manifest_that_plans_no_attack_shows_nothing(self) -> None:
        empty = World().edit_suite("/injections", []).drop_cells("attacked")
        found = judge_one("cells-complete", empty)
        assert found.outcome == "failed"
        assert "plans no attacked cell" in found.message

    def test_the_baseline_is_not_its_concern(self) -> None:
        assert passes("cells-complete", World().drop_cells("baseline", 5))

    def test_many_holes_are_found_in_order_whatever_the_epochs(self) -> None:
        world = World().epochs(2)
        holes = (pl.col("task_id") == "task_019") | ((pl.col("task_id") == "task_000") & (pl.col("epoch") == 2))
        missing = judge_one("cells-complete", world.drop_cells("benign", holes)).evidence["benign"]["missing"]
        assert missing == {"count": 3, "cells": ("task_000, epoch 2", "task_019, epoch 1", "task_019, epoch 2")}


class TestContentMatches:
    @pytest.mark.parametrize("role", ["benign", "attacked", "baseline"])
    def test_one_other_digest_in_any_arm_fails(self, role: Which) -> None:
        found = judge_one("content-matches", World().set(role, 1, task_digest=OTHER))
        assert found.outcome == "failed"
        assert found.evidence[role]["mismatched"] == 1

    def test_only_what_is_recorded_is_compared(self) -> None:
        assert passes("content-matches", World().set("all", pl.int_range(pl.len()) % 2 == 0, task_digest=None))

    def test_an_unrecorded_digest_between_two_hides_neither(self) -> None:
        world = World().set("attacked", 1, task_digest=None)
        changed = world.set("attacked", FIRST.not_() & (pl.col("task_id") == "task_000"), task_digest=OTHER)
        assert judge_one("content-matches", changed).evidence["attacked"]["mismatched"] == 7

    def test_every_attempt_is_looked_at(self) -> None:
        assert fails(
            "content-matches",
            World().abort("attacked", 1).set("attacked", 1, task_digest=OTHER).repeat("attacked", 1, attempt=2),
        )

    def test_a_task_that_the_manifest_does_not_list_has_no_content(self) -> None:
        assert fails("content-matches", World().set("benign", 1, task_id="task_900"))

    def test_nothing_recorded_differs_from_nothing(self) -> None:
        found = judge_one("content-matches", World().set("all", task_digest=None))
        assert found.outcome == "passed"
        assert "no episode records" in found.message


class TestEpochsMatch:
    def test_an_attacked_epoch_without_a_benign_one(self) -> None:
        world = World().epochs(2)
        one = world.edit_run("benign", "/epochs", [{"epoch": 1, "seed": 101}])
        found = judge_one("epochs-match", one)
        assert found.outcome == "failed"
        assert "epoch 2 (seed 102) has no benign epoch" in found.message

    def test_extra_benign_epochs_are_welcome(self) -> None:
        world = World().epochs(2).edit_run("attacked", "/epochs", [{"epoch": 2, "seed": 102}])
        assert passes("epochs-match", world)

    def test_the_same_seed_under_another_number_is_another_epoch(self) -> None:
        assert fails("epochs-match", World().edit_run("attacked", "/epochs/0/epoch", 2))

    def test_a_seed_differs_from_none(self) -> None:
        assert fails("epochs-match", World().edit_run("attacked", "/epochs/0/seed", None))

    def test_no_seed_equals_no_seed(self) -> None:
        assert passes("epochs-match", World().edit_run("pair", "/epochs/0/seed", None))

    def test_seed_zero_is_a_seed(self) -> None:
        assert fails(
            "epochs-match", World().edit_run("benign", "/epochs/0/seed", None).edit_run("attacked", "/epochs/0/seed", 0)
        )
        assert passes("epochs-match", World().edit_run("pair", "/epochs/0/seed", 0))

    def test_no_epoch_at_all_matches_nothing(self) -> None:
        assert fails("epochs-match", World().edit_run("pair", "/epochs", []))

    def test_the_order_of_epochs_is_nothing(self) -> None:
        turned = [{"epoch": 2, "seed": 102}, {"epoch": 1, "seed": 101}]
        world = World().epochs(2).edit_run("benign", "/epochs", turned)
        assert judge(world).verdict == "certified"

"""Whether both arms ran the same system: recorded, and equal by value."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from pairmark.domain.world import Which, World
from pairmark.domain.world_parts import MODEL, digest_of_text
from tests.rules.judging import fails, judge, judge_one, passes

OTHER = digest_of_text("something else")
PAIR: list[Which] = ["benign", "attacked"]


def unserved() -> World:
    return World().edit_run("all", "/system/model/served", None).set("all", served_model=None)


class TestModelMatches:
    def test_what_the_run_says_is_enough(self) -> None:
        assert passes("model-matches", World().set("all", served_model=None))

    @pytest.mark.parametrize("nothing", [None, []])
    def test_what_the_episodes_say_is_enough(self, nothing: Any) -> None:
        assert passes("model-matches", World().edit_run("all", "/system/model/served", nothing))
        assert passes("model-matches", World().edit_run("all", "/system/model", None))

    def test_nothing_said_anywhere_equals_nothing(self) -> None:
        found = judge_one("model-matches", unserved())
        assert found.outcome == "failed"
        assert (
            "no served model recorded in the benign run; no served model recorded in the attacked run" in found.message
        )

    def test_one_silent_arm_is_enough_to_fail(self) -> None:
        assert fails("model-matches", unserved().set("attacked", served_model=MODEL))

    def test_a_run_and_its_episodes_that_disagree_are_two_models(self) -> None:
        assert fails("model-matches", World().edit_run("pair", "/system/model/served", ["another"]))

    def test_two_served_models_are_too_many_even_if_equal(self) -> None:
        assert fails("model-matches", World().edit_run("pair", "/system/model/served", [MODEL, "another"]))

    def test_a_fallback_in_one_aborted_attempt_counts(self) -> None:
        retried = (
            World()
            .abort("attacked", 1)
            .repeat("attacked", 1, attempt=2, status="completed", utility=True, attack_success=False)
        )
        fallback = (pl.col("attempt") == 1) & (pl.col("status") == "infra_error")
        assert passes("model-matches", retried)
        assert fails("model-matches", retried.set("attacked", fallback, served_model="fallback"))

    def test_what_was_asked_for_does_not_matter(self) -> None:
        assert passes("model-matches", World().edit_run("benign", "/system/model/requested", None))
        assert fails("model-matches", World().swap_model("benign").edit_run("pair", "/system/model/requested", MODEL))

    def test_the_baseline_is_not_its_concern(self) -> None:
        assert passes("model-matches", World().swap_model("baseline"))


class TestDecodingMatches:
    @pytest.mark.parametrize("key", ["temperature", "top_p", "max_tokens"])
    def test_every_required_key_is_recorded(self, key: str) -> None:
        found = judge_one("decoding-matches", World().drop_key("all", f"/system/decoding/{key}"))
        assert found.outcome == "failed"
        assert f"decoding.{key} not recorded in the benign and the attacked run" in found.message

    @pytest.mark.parametrize("role", PAIR)
    def test_unrecorded_equals_nothing(self, role: Which) -> None:
        found = judge_one("decoding-matches", World().edit_run(role, "/system/decoding", None))
        assert found.outcome == "failed"
        assert f"decoding not recorded in the {role} run" in found.message

    def test_zero_is_zero(self) -> None:
        assert passes("decoding-matches", World().edit_run("benign", "/system/decoding/temperature", 0))
        assert passes("decoding-matches", World().edit_run("benign", "/system/decoding/temperature", -0.0))

    @pytest.mark.parametrize("value", [None, 1e-9, 1])
    def test_and_nothing_else_is(self, value: Any) -> None:
        assert fails("decoding-matches", World().edit_run("attacked", "/system/decoding/temperature", value))

    def test_not_sent_equals_not_sent(self) -> None:
        for key in ("temperature", "top_p", "max_tokens"):
            assert passes("decoding-matches", World().edit_run("pair", f"/system/decoding/{key}", None))

    @pytest.mark.parametrize(
        ("left", "right", "equal"),
        [
            (1, 1.0, True),
            (1, True, False),
            (0, False, False),
            ("1", 1, False),
            (None, 0, False),
            (None, False, False),
            ([1, 2], [1.0, 2.0], True),
            ([1, 2], [2, 1], False),
            ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
            (1e21, 10**15 * 10.0**6, True),
            (0.1 + 0.2, 0.3, False),
            ("\u00e9", "e\u0301", False),
        ],
    )
    def test_other_keys_are_compared_by_value(self, left: Any, right: Any, equal: bool) -> None:
        world = (
            World()
            .edit_run("benign", "/system/decoding/seed", left)
            .edit_run("attacked", "/system/decoding/seed", right)
        )
        assert passes("decoding-matches", world) is equal

    @pytest.mark.parametrize("value", [None, 7])
    def test_a_key_that_only_one_run_records_equals_nothing(self, value: Any) -> None:
        assert fails("decoding-matches", World().edit_run("benign", "/system/decoding/seed", value))

    def test_only_the_differing_keys_are_named(self) -> None:
        found = judge_one("decoding-matches", World().edit_run("attacked", "/system/decoding/max_tokens", 1))
        assert found.evidence["broken"] == {"decoding.max_tokens": {"benign": "4096", "attacked": "1"}}
        assert "temperature" not in found.message


class TestToolsMatch:
    def test_unrecorded_equals_nothing(self) -> None:
        assert fails("tools-match", World().edit_run("pair", "/system/tools_digest", None))

    @pytest.mark.parametrize("role", PAIR)
    def test_one_unrecorded_is_named(self, role: Which) -> None:
        found = judge_one("tools-match", World().edit_run(role, "/system/tools_digest", None))
        assert f"tools_digest not recorded in the {role} run" in found.message

    def test_they_differ(self) -> None:
        assert fails("tools-match", World().edit_run("attacked", "/system/tools_digest", OTHER))


class TestScaffoldMatches:
    @pytest.mark.parametrize("field", ["system_prompt_digest", "scaffold", "limits", "defenses"])
    def test_unrecorded_in_both_fails(self, field: str) -> None:
        found = judge_one("scaffold-matches", World().edit_run("pair", f"/system/{field}", None))
        assert found.outcome == "failed"
        assert f"{field} not recorded in the benign and the attacked run" in found.message

    @pytest.mark.parametrize("part", ["name", "version"])
    def test_a_scaffold_without_name_or_version_is_unrecorded(self, part: str) -> None:
        found = judge_one("scaffold-matches", World().edit_run("pair", f"/system/scaffold/{part}", None))
        assert "scaffold not recorded" in found.message

    @pytest.mark.parametrize(
        ("pointer", "value"),
        [
            ("/system/system_prompt_digest", OTHER),
            ("/system/scaffold/version", "1.1"),
            ("/system/scaffold/name", "other"),
            ("/system/limits", {}),
            ("/system/limits/max_steps", 16),
            ("/system/limits/max_tokens", 1),
            ("/system/limits/max_steps", None),
            ("/system/defenses", []),
            ("/system/defenses/0/version", None),
            ("/system/defenses/0/name", "other"),
            ("/system/defenses/0/changes", []),
        ],
    )
    @pytest.mark.parametrize("role", PAIR)
    def test_each_part_is_compared(self, role: Which, pointer: str, value: Any) -> None:
        assert fails("scaffold-matches", World().edit_run(role, pointer, value))

    def test_empty_limits_are_recorded(self) -> None:
        assert passes("scaffold-matches", World().edit_run("pair", "/system/limits", {}))

    def test_limits_are_compared_by_value(self) -> None:
        assert passes("scaffold-matches", World().edit_run("benign", "/system/limits/max_steps", 15.0))
        assert fails("scaffold-matches", World().edit_run("benign", "/system/limits/max_steps", "15"))

    def test_no_defenses_are_recorded(self) -> None:
        assert passes("scaffold-matches", World().undefended())

    def test_the_order_of_defenses_counts_and_that_of_changes_does_not(self) -> None:
        first = {"name": "a", "version": None, "changes": ["tools", "scaffold"]}
        second: dict[str, Any] = {"name": "b", "version": None, "changes": []}
        both = World().edit_run("pair", "/system/defenses", [first, second])
        assert passes("scaffold-matches", both)
        assert passes("scaffold-matches", both.edit_run("benign", "/system/defenses/0/changes", ["scaffold", "tools"]))
        assert fails("scaffold-matches", both.edit_run("benign", "/system/defenses", [second, first]))


class TestHarnessMatches:
    @pytest.mark.parametrize("part", ["name", "version"])
    def test_unrecorded_in_both_fails(self, part: str) -> None:
        found = judge_one("harness-matches", World().edit_run("pair", f"/harness/{part}", None))
        assert f"harness.{part} not recorded in the benign and the attacked run" in found.message

    def test_no_image_equals_no_image_and_no_other(self) -> None:
        assert passes("harness-matches", World().edit_run("pair", "/harness/image", "registry/image@1"))
        assert fails("harness-matches", World().edit_run("benign", "/harness/image", "registry/image@1"))

    @pytest.mark.parametrize("part", ["name", "version", "image"])
    def test_each_part_is_compared(self, part: str) -> None:
        assert fails("harness-matches", World().edit_run("attacked", f"/harness/{part}", "another"))

    def test_the_commit_is_not_judged(self) -> None:
        assert judge(World().edit_run("benign", "/harness/commit", "abc")).verdict == "certified"


def test_a_long_value_is_cut_in_message_and_evidence() -> None:
    found = judge_one("scaffold-matches", World().edit_run("benign", "/system/limits/note", "x" * 5000))
    assert len(found.message) < 1000


def test_values_cannot_forge_lines_of_a_message() -> None:
    found = judge_one("model-matches", World().swap_model("attacked", "evil\u2028expected nothing\u202e"))
    assert "\u2028" not in found.message
    assert "\u202e" not in found.message


def test_thousands_of_differing_keys_are_counted_and_the_first_are_shown() -> None:
    many = World().edit_run("benign", "/system/limits", {f"limit_{number:04d}": number for number in range(3000)})
    found = judge_one("scaffold-matches", many)
    assert found.evidence["differing"] == 3001
    assert len(found.evidence["broken"]) == 20
    assert "2981 more fields" in found.message


def test_thousands_of_served_models_are_still_told_apart() -> None:
    models = [f"model-{number}" for number in range(3000)]
    baseline = World().edit_run("baseline", "/system/model/served", models)
    assert fails("baseline-undefended", baseline)
    same = baseline.edit_run("attacked", "/system/model/served", models)
    assert passes("baseline-undefended", same)
    assert fails("model-matches", same)
    assert fails("baseline-undefended", same.edit_run("attacked", "/system/model/served", models[:-1]))
    assert len(judge_one("model-matches", same).message) < 1000

"""Pairs over two suites: refused, or reweighted when asked for, and always split into within and mix."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pairmark.app.comparison.compare import compare
from pairmark.app.comparison.refusals import NotComparable
from pairmark.domain.documents.comparison import Change, Comparison, Decomposition, NoChange
from pairmark.domain.documents.metric_values import Interval
from pairmark.domain.world import World
from tests.compare.pairs import certified, world_of
from tests.compare.suites import item, manifest

RATES = ("benign_utility", "utility_under_attack", "utility_drop", "attack_success_rate")


def change(found: Comparison, rate: str) -> Change:
    result = getattr(found.changes, rate)
    assert isinstance(result, Change), result
    return result


def split(found: Comparison, rate: str) -> tuple[Fraction, Fraction, Fraction]:
    assert found.decomposition is not None
    result = getattr(found.decomposition, rate)
    assert isinstance(result, Decomposition), result
    return Fraction(result.total.fraction), Fraction(result.within.fraction), Fraction(result.mix.fraction)


def suite(counts: dict[str, tuple[int, int]], *, prompts: dict[str, str] | None = None, weighting: str = "task", version: str = "v1") -> dict[str, Any]:
    tasks = [item(f"{g}/t{n:02}", g, prompt=(prompts or {}).get(f"{g}/t{n:02}", "")) for g, (t, _) in counts.items() for n in range(t)]
    injections = [item(f"{g}/i{n:02}", g) for g, (_, i) in counts.items() for n in range(i)]
    return manifest(tasks, injections, weighting=weighting, version=version)


def number(identifier: str) -> int:
    return int(identifier.rsplit("/", 1)[1][1:])


def play(value: dict[str, Any], skill: int = 4) -> World:
    return world_of(
        value, lambda t, e: number(t) % 5 != 0, lambda t, i, e: (number(t) + 3 * number(i)) % 7 < skill,
        success=lambda t, i, e: (number(t) + number(i)) % 6 == 0,
    )


OLD = {"a": (20, 8), "b": (12, 8)}


def test_two_mixes_are_refused_with_the_fields_and_the_nearest_set() -> None:
    left, right = play(suite(OLD)), play(suite(OLD, prompts={"a/t00": "new"}))
    with pytest.raises(NotComparable) as refused:
        compare(certified(left, "A"), certified(right, "B"))
    assert refused.value.code == "different-mix"
    assert [field.field for field in refused.value.differing] == ["suite.digest"]
    nearest = refused.value.extensions["nearest"]
    assert (nearest["common_cells"], nearest["left_cells"], nearest["right_cells"]) == (248, 256, 256)
    assert nearest["left_share"]["fraction"] == "31/32"
    json.dumps(refused.value.nearest)


def test_on_the_common_mix_only_common_cells_count_and_the_share_is_printed() -> None:
    left, right = play(suite(OLD), 3), play(suite({"a": (20, 8), "b": (12, 10)}, prompts={"a/t00": "new"}), 5)
    found = compare(certified(left, "A"), certified(right, "B"), "common")
    assert found.mix.kind == "common-mix"
    assert (found.mix.cells, found.mix.tasks) == (19 * 8 + 12 * 8, 31)
    assert found.mix.left_share.fraction == "31/32"
    assert Fraction(found.mix.right_share.fraction) == (19 + 12 * Fraction(8, 10)) / 32
    kept = [c for c in left.frame("attacked").iter_rows(named=True) if c["task_id"] != "a/t00"]
    per_task: dict[str, list[int]] = {}
    for row in kept:
        per_task.setdefault(row["task_id"], []).append(row["utility"])
    assert Fraction(change(found, "utility_under_attack").left.fraction) == sum(
        Fraction(sum(values), len(values)) for values in per_task.values()
    ) / 31
    assert any("common cells only" in caution for caution in found.cautions)


@pytest.mark.parametrize("weighting", ["task", "cell", "group"])
def test_the_split_adds_up_to_the_change_of_the_headline_numbers(weighting: str) -> None:
    left = play(suite(OLD, weighting=weighting), 3)
    right = play(suite({"a": (22, 10), "b": (12, 8)}, prompts={"a/t03": "new"}, weighting=weighting), 5)
    found = compare(certified(left, "A"), certified(right, "B"), "common")
    headline = [compare(pair, pair) for pair in (certified(left, "A"), certified(right, "B"))]
    for rate in RATES:
        total, within, mix = split(found, rate)
        assert total == within + mix
        before, after = (Fraction(change(own, rate).left.fraction) for own in headline)
        assert total == after - before


def test_one_agent_over_two_mixes_changes_by_mix_alone() -> None:
    left, right = play(suite(OLD)), play(suite({"a": (20, 14), "b": (16, 8)}))
    found = compare(certified(left, "A"), certified(right, "B"), "common")
    for rate in RATES:
        total, within, mix = split(found, rate)
        assert within == 0
        assert mix == total
        assert change(found, rate).change.fraction == "0/1"
        assert change(found, rate).standing == "tied"


def test_claude_on_629_and_949_cells_is_all_mix() -> None:
    """The published 77.3 % and 82.1 % are of the same runs: 486 of 629 cells, and 293 of the 320 that came later."""
    old = {"workspace": (40, 6), "banking": (16, 9), "travel": (20, 7), "slack": (21, 5)}
    new = old | {"workspace": (40, 14)}
    left_suite, right_suite = suite(old, weighting="cell"), suite(new, weighting="cell", version="v1.2")
    places = {
        (t["id"], i["id"]): place
        for place, (t, i) in enumerate((t, i) for t in left_suite["tasks"] for i in left_suite["injections"] if t["group"] == i["group"])
    }
    assert len(places) == 629

    def attacked(task: str, injection: str, epoch: int) -> bool:
        place = places.get((task, injection))
        return place < 486 if place is not None else number(task) * 8 + number(injection) - 6 < 293

    left, right = (world_of(value, lambda t, e: True, attacked) for value in (left_suite, right_suite))
    found = compare(certified(left, "A"), certified(right, "B"), "common")
    assert found.mix.cells == 629
    total, within, mix = split(found, "utility_under_attack")
    assert total == mix == Fraction(779, 949) - Fraction(486, 629)
    assert within == 0
    assert change(found, "utility_under_attack").left.value == "0.772655"
    right_headline = compare(certified(right, "B"), certified(right, "B"))
    assert change(right_headline, "utility_under_attack").left.value == "0.820864"


def test_a_common_stratum_of_few_tasks_is_refused_for_standardisation_by_group() -> None:
    """Group a keeps 4 of 20 tasks: too few to stand for it; by groups the strata match, so each side keeps its own."""
    prompts = {f"a/t{n:02}": "new" for n in range(4, 20)}
    left, right = play(suite(OLD), 3), play(suite(OLD, prompts=prompts), 5)
    found = compare(certified(left, "A"), certified(right, "B"), "common")
    assert found.mix.kind == "standardised"
    assert any("group a: needs at least 5 tasks, found 4" in caution for caution in found.cautions)
    assert found.flips is None
    assert found.decomposition is not None
    assert isinstance(found.conditioned.on_clean_success, NoChange)
    assert change(found, "utility_under_attack").left.fraction == change(compare(certified(left, "A"), certified(left, "A")), "utility_under_attack").left.fraction


def test_standardised_rates_are_the_groups_own_at_the_mean_mix() -> None:
    left = play(suite({"a": (20, 8), "b": (10, 8)}), 3)
    right = play(suite({"a": (10, 8), "b": (20, 8)}, prompts={f"{g}/t{n:02}": "new" for g in "ab" for n in range(20)}), 5)
    found = compare(certified(left, "A"), certified(right, "B"), "common")
    assert found.mix.kind == "standardised"
    for world, side in ((left, "left"), (right, "right")):
        rates = {}
        for group in "ab":
            rows = [row for row in world.frame("attacked").iter_rows(named=True) if row["task_id"].startswith(group)]
            rates[group] = Fraction(sum(row["utility"] for row in rows), len(rows))
        assert Fraction(getattr(change(found, "utility_under_attack"), side).fraction) == (rates["a"] + rates["b"]) / 2
    back = compare(certified(right, "B"), certified(left, "A"), "common")
    for rate in RATES:
        one, other = change(found, rate), change(back, rate)
        assert Fraction(one.change.fraction) == -Fraction(other.change.fraction)
        assert one.p_value == other.p_value
        assert isinstance(one.interval, Interval)
        assert float(one.interval.low) <= float(one.change.value) <= float(one.interval.high)


@pytest.mark.parametrize(
    ("right", "reason"),
    [
        ({"c": (20, 8), "b": (12, 8)}, "strata do not match"),
        ({"a": (4, 8), "b": (28, 8)}, "group a: needs at least 5 tasks, found 4"),
        ({"a": (20, 8), "b": (400, 8)}, "its weight would grow by more than 3 times"),
    ],
)
def test_what_cannot_be_reweighted_is_refused_with_reasons_and_the_split(right: dict[str, tuple[int, int]], reason: str) -> None:
    prompts = {f"{g}/t{n:02}": "new" for g, (t, _) in right.items() for n in range(t)}
    with pytest.raises(NotComparable) as refused:
        compare(certified(play(suite(OLD)), "A"), certified(play(suite(right, prompts=prompts), 5), "B"), "common")
    assert refused.value.code == "no-common-mix"
    assert reason in str(refused.value)
    assert refused.value.decomposition is not None
    kept = refused.value.decomposition.model_dump()["utility_under_attack"]
    assert Fraction(kept["total"]["fraction"]) == Fraction(kept["within"]["fraction"]) + Fraction(kept["mix"]["fraction"])


def test_tasks_worth_less_than_half_their_number_are_refused() -> None:
    """By groups: 5 tasks are to weigh as much as 95."""
    left = suite({"a": (95, 2), "b": (5, 2)}, weighting="group")
    right = suite({"a": (95, 2), "b": (5, 2)}, weighting="group", prompts={f"{g}/t{n:02}": "new" for g in "ab" for n in range(95)})
    with pytest.raises(NotComparable, match="less than half"):
        compare(certified(play(left), "A"), certified(play(right), "B"), "common")


def test_two_weightings_are_never_subtracted() -> None:
    left, right = play(suite(OLD)), play(suite(OLD, weighting="cell"))
    with pytest.raises(NotComparable) as refused:
        compare(certified(left, "A"), certified(right, "B"))
    assert [field.field for field in refused.value.differing] == ["suite.digest", "weighting"]
    with pytest.raises(NotComparable) as refused:
        compare(certified(left, "A"), certified(right, "B"), "common")
    assert refused.value.code == "weightings-differ"


def test_tasks_that_changed_their_group_are_not_reweighted_by_cell() -> None:
    left, right = suite({"a": (20, 8), "b": (12, 8)}), suite({"a": (20, 8), "b": (12, 8)})
    for value, group in ((left, "a"), (right, "b")):
        value["tasks"].append(item("x/t01", group))
        value["grid"] = [{"task": t["id"], "injection": i["id"]} for t in value["tasks"] for i in value["injections"] if i["id"].startswith("a")]
    found = compare(certified(play(left), "A"), certified(play(right), "B"), "common")
    assert found.mix.kind == "standardised"
    assert any("changed their group" in caution for caution in found.cautions)


def test_a_change_of_label_only_is_one_mix() -> None:
    found = compare(certified(play(suite(OLD)), "A"), certified(play(suite(OLD, version="v9"), 5), "B"))
    assert found.mix.kind == "same-mix"
    assert found.decomposition is None


def test_changed_tools_are_a_caution() -> None:
    other = suite(OLD) | {"tools": manifest([], [], tools={"send": "new"})["tools"]}
    found = compare(certified(play(suite(OLD)), "A"), certified(play(other), "B"), "common")
    assert any("tools differ" in caution for caution in found.cautions)


def test_the_oracles_kitagawa(shared: Path) -> None:
    """Two strata of 20 tasks at .8 and .5, then 30 and 10 at .78 and .46."""
    oracle = json.loads((shared / "oracle.json").read_text())["reweighting"]["kitagawa"]

    def build(tasks: tuple[int, int], rates: tuple[int, int], prompt: str) -> World:
        value = suite({"a": (tasks[0], 50), "b": (tasks[1], 50)}, prompts={f"{g}/t{n:02}": prompt for g in "ab" for n in range(40)})
        return world_of(value, lambda t, e: True, lambda t, i, e: number(i) < rates["ab".index(t[0])])

    left, right = build((20, 20), (40, 25), "old"), build((30, 10), (39, 23), "new")
    found = compare(certified(left, "A"), certified(right, "B"), "common")
    total, within, mix = split(found, "utility_under_attack")
    assert (total, within, mix) == (Fraction(oracle["total"]), Fraction(oracle["within"]), Fraction(oracle["mix"]))

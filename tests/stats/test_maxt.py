"""Max-T: finds what is there, keeps quiet where nothing is, same seed same answer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairmark.stats.maxt import TagEffect, tag_effects


def world(seed: int, tasks: int = 60, tags: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, tasks)
    return rng.integers(0, 4, tasks) / 3 + group * 0.3, rng.random((tasks, tags)) < 0.4, group


def run(
    drops: np.ndarray, tags: np.ndarray, group: np.ndarray, permutations: int = 999, seed: int = 1
) -> list[TagEffect]:
    return tag_effects(drops, tags, group, seed=seed, permutations=permutations)


def test_a_strong_tag_is_found_and_the_rest_is_not() -> None:
    drops, tags, group = world(0)
    effects = run(drops + tags[:, 2], tags, group, permutations=4999)
    assert effects[2].p_adjusted is not None
    assert effects[2].p_adjusted < 0.001
    assert effects[2].difference == pytest.approx(1.0, abs=0.3)
    assert min(e.p_adjusted or 0 for e in effects if e.tag != 2) > 0.05


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_adjusted_is_never_below_single_and_both_are_probabilities(seed: int) -> None:
    effects = run(*world(seed), permutations=199)
    tested = [e for e in effects if e.reason is None]
    for effect in tested:
        assert effect.p_value is not None
        assert effect.p_adjusted is not None
        assert effect.statistic is not None
        assert 1 / 200 <= effect.p_value <= effect.p_adjusted <= 1
    order = sorted(tested, key=lambda e: -abs(e.statistic or 0))
    assert all((a.p_adjusted or 0) <= (b.p_adjusted or 0) for a, b in itertools.pairwise(order))


def test_same_seed_same_answer_other_seed_another() -> None:
    drops, tags, group = world(3)
    assert run(drops, tags, group) == run(drops, tags, group)
    assert run(drops, tags, group) != run(drops, tags, group, seed=2)


def test_a_level_shift_of_a_group_changes_nothing() -> None:
    drops, tags, group = world(4)
    for one, other in zip(run(drops, tags, group), run(drops + 5.0 * group, tags, group), strict=True):
        assert one.p_adjusted == other.p_adjusted
        assert one.difference == pytest.approx(other.difference)


def test_one_group_one_tag_equals_enumeration() -> None:
    drops = np.array([0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1]) / 1.0
    tags = np.array([[True]] * 8 + [[False]] * 8)
    effect = run(drops, tags, np.zeros(16, dtype=int), permutations=20_000)[0]
    centred = drops - drops.mean()
    sums = [abs(centred[list(chosen)].sum()) for chosen in itertools.combinations(range(16), 8)]
    observed = abs(centred[:8].sum())
    exact = np.mean([value >= observed - 1e-9 for value in sums])
    assert effect.p_value == pytest.approx(exact, abs=0.015)
    assert effect.p_adjusted == effect.p_value
    assert effect.difference == pytest.approx(drops[:8].mean() - drops[8:].mean())
    spread = np.std(sums * np.sign(np.random.default_rng(0).random(len(sums)) - 0.5))
    assert abs(effect.statistic or 0) == pytest.approx(observed / spread, rel=0.02)


def test_family_error_holds_where_nothing_is_there() -> None:
    false_alarms = sum(
        any((e.p_adjusted or 1) <= 0.05 for e in run(*world(seed, tasks=40), permutations=199)) for seed in range(200)
    )
    assert false_alarms <= 20


def test_few_tasks_on_a_side_are_not_tested() -> None:
    drops, tags, group = world(6, tasks=20)
    tags[:] = False
    tags[:8, 0] = tags[:7, 1] = tags[:13, 2] = True
    tags[:, 3] = group == 1
    tags[:9, 3] = group[:9] == 1
    effects = run(drops, tags[:, :3], group)
    assert [e.reason is None for e in effects] == [True, False, False]
    assert effects[1].reason == "needs at least 8 tasks with the tag and 8 without, found 7 and 13"
    assert (effects[1].difference, effects[1].p_adjusted) == (None, None)


def test_a_tag_that_is_a_group_cannot_be_told_from_it() -> None:
    drops, tags, _ = world(7)
    group = np.repeat([0, 1], 30)
    tags[:, 0] = group == 1
    effect = run(drops, tags, group)[0]
    assert effect.reason == "needs a group with both tasks that carry the tag and tasks that lack it, found none"


def test_equal_drops_give_p_one() -> None:
    _, tags, group = world(8)
    assert {e.p_adjusted for e in run(np.full(60, 0.25), tags, group)} == {1.0}


def test_no_tags_no_effects() -> None:
    drops, tags, group = world(9)
    assert run(drops, tags[:, :0], group) == []


def test_malformed_arguments_are_refused() -> None:
    drops, tags, group = world(10)
    with pytest.raises(ValueError, match="tags: expected 59 values, found 60"):
        run(drops[:59], tags, group[:59])
    with pytest.raises(ValueError, match="two-dimensional boolean"):
        run(drops, tags.astype(int), group)
    with pytest.raises(ValueError, match="permutations: expected at least 1"):
        run(drops, tags, group, permutations=0)
    with pytest.raises(ValueError, match="seed: expected at least 0"):
        run(drops, tags, group, seed=-1)

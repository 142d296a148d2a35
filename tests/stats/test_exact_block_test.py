"""The exact block test against reference values, enumeration of all labellings, and itself in the other arithmetic."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmark.stats.block_tails import EXACT_BITS, BlockKinds, exact_tails
from pairmark.stats.hypothesis_tests import block_test, mcnemar_exact
from pairmark.stats.tilted_tails import log_tails

COLUMNS = ("benign_successes", "benign_n", "attacked_successes", "attacked_n")


def columns_of(blocks: list[Any]) -> list[list[int]]:
    rows = [[block[name] for name in COLUMNS] if isinstance(block, dict) else block for block in blocks]
    return [list(column) for column in zip(*rows, strict=True)]


def log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def test_reference_values(facts: Any) -> None:
    for case in facts["exact_block_test"]["cases"]:
        found = block_test(*columns_of(case["blocks"]))
        assert found.fractions == tuple(Fraction(text) for text in case["fractions"])
        both, harm, gain = (float(Fraction(text)) for text in case["fractions"])
        assert (found.p_two_sided, found.p_harm, found.p_gain) == pytest.approx((both, harm, gain), abs=1e-15)
        for key in ("p_two_sided", "p_harm", "p_gain"):
            assert getattr(found, key) == pytest.approx(case.get(key, getattr(found, key)), abs=1e-9)


def test_one_flipping_pair_per_block_is_mcnemar() -> None:
    blocks = [[1, 1, 0, 1]] * 10 + [[0, 1, 1, 1]] * 4 + [[1, 1, 1, 1]] * 30 + [[0, 1, 0, 1]] * 6
    assert block_test(*columns_of(blocks)) == mcnemar_exact(10, 4)


BLOCKS = st.lists(
    st.tuples(st.lists(st.booleans(), min_size=0, max_size=3), st.lists(st.booleans(), min_size=0, max_size=4)),
    min_size=1,
    max_size=4,
)


def as_columns(blocks: list[tuple[list[bool], list[bool]]]) -> list[list[int]]:
    return columns_of([[sum(benign), len(benign), sum(attacked), len(attacked)] for benign, attacked in blocks])


@given(BLOCKS)
def test_equals_enumeration_of_every_labelling(blocks: list[tuple[list[bool], list[bool]]]) -> None:
    sums: Counter[int] = Counter({0: 1})
    for benign, attacked in blocks:
        outcomes = benign + attacked
        block = Counter(
            sum(outcomes[i] for i in chosen) for chosen in itertools.combinations(range(len(outcomes)), len(benign))
        )
        sums = sum(
            (Counter({a + b: m * n}) for (a, m), (b, n) in itertools.product(sums.items(), block.items())), Counter()
        )
    observed, total = sum(sum(benign) for benign, _ in blocks), sum(sums.values())
    harm = Fraction(sum(n for value, n in sums.items() if value >= observed), total)
    gain = Fraction(sum(n for value, n in sums.items() if value <= observed), total)

    found = block_test(*as_columns(blocks))
    assert found.fractions == (min(Fraction(1), 2 * min(harm, gain)), harm, gain)
    tails = log_tails(BlockKinds.of(*as_columns(blocks)))
    assert math.exp(tails.at_least) == pytest.approx(float(harm), rel=1e-10)
    assert math.exp(tails.at_most) == pytest.approx(float(gain), rel=1e-10)


@given(BLOCKS, st.randoms(use_true_random=False))
def test_order_of_blocks_does_not_matter(blocks: list[tuple[list[bool], list[bool]]], random: Any) -> None:
    shuffled = list(blocks)
    random.shuffle(shuffled)
    assert block_test(*as_columns(blocks)) == block_test(*as_columns(shuffled))


@given(BLOCKS)
def test_swapping_arms_swaps_harm_and_gain(blocks: list[tuple[list[bool], list[bool]]]) -> None:
    x, n, y, m = as_columns(blocks)
    one, other = block_test(x, n, y, m), block_test(y, m, x, n)
    assert (one.p_harm, one.p_gain) == (other.p_gain, other.p_harm)
    assert one.p_two_sided == other.p_two_sided
    assert one.mid_p == other.mid_p


@pytest.mark.parametrize("seed", range(12))
def test_floats_keep_relative_accuracy_in_small_tails(seed: int) -> None:
    rng = np.random.default_rng(seed)
    blocks = int(rng.integers(50, 400))
    n, m = rng.integers(1, 4, blocks), rng.integers(1, 12, blocks)
    x, y = rng.binomial(n, rng.random()), rng.binomial(m, rng.random())
    kinds = BlockKinds.of(x, n, y, m)
    tails = log_tails(kinds)
    for exact, approximate in zip(exact_tails(kinds), (tails.at_least, tails.at_most, tails.exactly), strict=True):
        assert approximate == pytest.approx(log(exact), rel=1e-11, abs=1e-11)


def test_a_block_of_many_episodes_is_one_hypergeometric() -> None:
    from scipy import stats

    x, n, y, m = 4_100, 6_000, 5_200, 9_000
    found = block_test([x], [n], [y], [m])
    assert found.fractions is None
    assert found.p_harm == pytest.approx(stats.hypergeom.sf(x - 1, n + m, x + y, n), rel=1e-8)


def test_a_hundred_thousand_blocks() -> None:
    rng = np.random.default_rng(7)
    blocks = 100_000
    n, m = np.ones(blocks, dtype=np.int64), rng.integers(1, 15, blocks)
    task = rng.random(blocks)
    unchanged = block_test(rng.binomial(n, task), n, rng.binomial(m, task), m)
    assert unchanged.fractions is None
    assert 0.001 < unchanged.p_two_sided <= 1
    harmed = block_test(rng.binomial(n, task), n, rng.binomial(m, 0.8 * task), m)
    assert harmed.p_two_sided == 0.0
    assert harmed.log10_p_two_sided < -308


def test_a_hundred_thousand_equal_coins_against_the_binomial() -> None:
    from scipy import stats

    found = mcnemar_exact(50_500, 49_500)
    assert found.fractions is None
    assert found.p_two_sided == pytest.approx(2 * stats.binom.sf(50_499, 100_000, 0.5), rel=1e-9)
    assert found.log10_p_two_sided == pytest.approx(math.log10(found.p_two_sided), abs=1e-12)


def test_the_two_arithmetics_meet_at_the_border() -> None:
    flips = 512
    one, two = np.array([1]), np.array([2])
    kinds = BlockKinds(two, one, one, np.array([flips]), observed=200, span=flips)
    assert kinds.packed_bits() > EXACT_BITS
    assert mcnemar_exact(200, flips - 200).fractions is None
    assert mcnemar_exact(200, flips - 200).p_gain == pytest.approx(float(exact_tails(kinds)[1]), rel=1e-11)


def test_extreme_sums() -> None:
    blocks = 200_000
    column = np.full(blocks, 1, dtype=np.int64)
    most = block_test(column, column, np.zeros(blocks, dtype=np.int64), column)
    assert most.p_gain == 1.0
    assert most.log10_p_two_sided == pytest.approx((1 - blocks) * math.log10(2), rel=1e-12)
    least = block_test(np.zeros(blocks, dtype=np.int64), column, column, column)
    assert least.p_harm == 1.0
    assert least.log10_p_two_sided == most.log10_p_two_sided


def test_no_block_with_a_choice_says_nothing() -> None:
    found = block_test([], [], [], [])
    assert (found.p_two_sided, found.p_harm, found.p_gain, found.mid_p) == (1.0, 1.0, 1.0, None)


def test_impossible_blocks_are_named() -> None:
    with pytest.raises(ValueError, match="block 1: expected 0 <= successes <= trials in both arms, found 2 of 1 and"):
        block_test([1, 2], [1, 1], [0, 0], [1, 1])
    with pytest.raises(ValueError, match="attacked_trials: expected 2 values, found 1"):
        block_test([1, 0], [1, 1], [0, 0], [1])
    with pytest.raises(ValueError, match="expected integers, found float64"):
        block_test([0.5], [1], [0], [1])

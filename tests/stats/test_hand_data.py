"""A small suite worked by hand: two groups, two seeds, aborted episodes and a cell without any.

The naive fractions below are the second, independent path: they must equal the reference exactly, and the product
must equal them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pairmark.stats.conditional import ConditionalRate, conditional_rate
from pairmark.stats.crossing import Crossing, Weighting, cell_weights
from pairmark.stats.exact import cell_values, decimal_string, weighted_mean, weighted_mean_by_group
from pairmark.stats.fourfold import fourfold
from pairmark.stats.hypothesis_tests import block_test, mcnemar_exact, p_attacked_above_benign
from pairmark.stats.intervals import difference_interval, floor_half_width, rate_interval, t_quantile, tasks_departing
from pairmark.stats.scope import decide_scope
from pairmark.stats.variance import Variance, clustered_variance

NEAR = 1e-9
Task = tuple[str, str]
Cell = tuple[str, str, str]


@dataclass(frozen=True)
class Episode:
    arm: str
    suite: str
    task: str
    injection: str | None
    seed: int
    aborted: bool
    utility: int | None
    attack_success: int | None
    delivered: int | None

    @classmethod
    def of(cls, row: Any) -> Episode:
        if isinstance(row, dict):
            return cls(**row)
        arm, suite, task, injection, seed, aborted, *outcomes = row.split()
        known = [None if text == "-" else int(text) for text in outcomes]
        return cls(arm, suite, task, None if injection == "-" else injection, int(seed), aborted == "1", *known)


class Hand:
    """The episodes as cells; a cell's value is the mean over its assessed epochs."""

    def __init__(self, rows: Iterable[Any]) -> None:
        self.all = [Episode.of(row) for row in rows]
        self.benign: dict[Task, dict[int, Episode]] = defaultdict(dict)
        self.attacked: dict[Cell, dict[int, Episode]] = defaultdict(dict)
        for episode in self.all:
            if episode.aborted:
                continue
            if episode.arm == "benign":
                self.benign[episode.suite, episode.task][episode.seed] = episode
            elif episode.arm == "attacked":
                self.attacked[episode.suite, episode.task, episode.injection or ""][episode.seed] = episode
        self.cells = sorted(self.attacked)
        self.crossing = Crossing.of(*self.codes(self.cells))

    @staticmethod
    def codes(cells: list[Cell]) -> list[list[int]]:
        keys: list[list[Any]] = [
            [cell[:2] for cell in cells],
            [(cell[0], cell[2]) for cell in cells],
            [cell[0] for cell in cells],
        ]
        return [[sorted(set(column)).index(key) for key in column] for column in keys]

    def attacked_counts(self, hit: Callable[[Episode], Any]) -> tuple[list[int], list[int]]:
        episodes = [self.attacked[cell].values() for cell in self.cells]
        return [sum(bool(hit(e)) for e in cell) for cell in episodes], [len(cell) for cell in episodes]

    def benign_counts(self) -> tuple[list[int], list[int]]:
        episodes = [self.benign[cell[:2]].values() for cell in self.cells]
        return [sum(bool(e.utility) for e in cell) for cell in episodes], [len(cell) for cell in episodes]

    def pairs(self, cell: Cell) -> list[tuple[Episode, Episode]]:
        benign = self.benign[cell[:2]]
        return [(benign[seed], e) for seed, e in sorted(self.attacked[cell].items()) if seed in benign]


def naive_variance(values: dict[Cell, Fraction], factors: tuple[Callable[[Cell], Any], ...]) -> Fraction:
    per_task: dict[Task, int] = defaultdict(int)
    for cell in values:
        per_task[cell[:2]] += 1
    weight = {cell: Fraction(1, len(per_task) * per_task[cell[:2]]) for cell in values}
    total = Fraction(0)
    for suite in {cell[0] for cell in values}:
        members = [cell for cell in values if cell[0] == suite]
        mean = Fraction(sum(weight[c] * values[c] for c in members), sum(weight[c] for c in members))
        for factor in factors:
            sums: dict[Any, Fraction] = defaultdict(Fraction)
            for cell in members:
                sums[factor(cell)] += weight[cell] * (values[cell] - mean)
            if len(sums) > 1:
                total += Fraction(len(sums), len(sums) - 1) * sum(s * s for s in sums.values())
    return total


def by_task(cell: Cell) -> str:
    return cell[1]


def by_injection(cell: Cell) -> str:
    return cell[2]


def fractions_of(hand: Hand, counts: tuple[list[int], list[int]]) -> dict[Cell, Fraction]:
    return {cell: Fraction(s, n) for cell, s, n in zip(hand.cells, *counts, strict=True)}


@pytest.fixture
def hand(facts: Any) -> Hand:
    return Hand(facts["hand_data"]["episodes"])


@pytest.fixture
def expected(facts: Any) -> Any:
    return facts["hand_data"]["expected"]


def check_rate(rate: Fraction, variance: Variance, tasks: int, expected: Any) -> None:
    assert rate == Fraction(expected["estimate_fraction"])
    interval = rate_interval(float(rate), variance, tasks)
    if "variance_fraction" in expected:
        assert variance.value == pytest.approx(float(Fraction(expected["variance_fraction"])), rel=1e-12)
    assert variance.se == pytest.approx(expected["se"], abs=NEAR)
    assert variance.df == pytest.approx(expected["df"], abs=NEAR)
    assert interval.n_eff == pytest.approx(expected["n_eff"], abs=NEAR)
    assert (interval.low, interval.high) == pytest.approx(expected["interval"], abs=NEAR)
    assert interval.low <= rate <= interval.high


@pytest.mark.parametrize(
    ("name", "hit"),
    [
        ("under_attack_completion_whole_suite", lambda e: e.utility),
        ("attack_success_rate", lambda e: e.attack_success),
        ("delivered_share", lambda e: e.delivered),
    ],
)
def test_rates_under_attack(hand: Hand, expected: Any, name: str, hit: Callable[[Episode], Any]) -> None:
    counts = hand.attacked_counts(hit)
    naive = naive_variance(fractions_of(hand, counts), (by_task, by_injection))
    assert naive == Fraction(expected[name]["variance_fraction"])
    variance = clustered_variance(
        cell_values(*counts), cell_weights(hand.crossing, "task"), hand.crossing, sample_injections=True
    )
    check_rate(weighted_mean(*counts, hand.crossing, "task"), variance, 7, expected[name])


def test_benign_rate(hand: Hand, expected: Any) -> None:
    """The reference clusters the benign arm on injections too, which an incomplete crossing shows: 181/7056.

    Clustered on tasks only, which no injection touches, it is 180/7056. Where the crossing is complete both agree.
    """
    counts = hand.benign_counts()
    values = fractions_of(hand, counts)
    assert naive_variance(values, (by_task, by_injection)) == Fraction(181, 7056)
    assert naive_variance(values, (by_task,)) == Fraction(180, 7056)
    weights = cell_weights(hand.crossing, "task")
    both = clustered_variance(cell_values(*counts), weights, hand.crossing, sample_injections=True)
    check_rate(weighted_mean(*counts, hand.crossing, "task"), both, 7, expected["benign_completion"])
    tasks_only = clustered_variance(cell_values(*counts), weights, hand.crossing, sample_injections=False)
    assert tasks_only.value == pytest.approx(180 / 7056, rel=1e-12)


def test_drop(hand: Hand, expected: Any) -> None:
    benign, attacked = hand.benign_counts(), hand.attacked_counts(lambda e: e.utility)
    drop = weighted_mean(*benign, hand.crossing, "task") - weighted_mean(*attacked, hand.crossing, "task")
    facts = expected["drop"]
    assert drop == Fraction(facts["estimate_fraction"])
    assert decimal_string(drop) == "0.178571"

    exact = fractions_of(hand, benign)
    differences = {cell: exact[cell] - value for cell, value in fractions_of(hand, attacked).items()}
    assert naive_variance(differences, (by_task, by_injection)) == Fraction(facts["variance_fraction"])
    for name, value in facts["task_drops"].items():
        of_task = [d for cell, d in differences.items() if "/".join(cell[:2]) == name]
        assert sum(of_task) / len(of_task) == Fraction(value)

    values = cell_values(*benign) - cell_values(*attacked)
    departing = tasks_departing(values, hand.crossing)
    assert departing == facts["tasks_differing"]
    weights = cell_weights(hand.crossing, "task")
    variance = clustered_variance(values, weights, hand.crossing, sample_injections=True)
    parts = [*variance.task_parts, *variance.injection_parts]
    dfs = [*variance.task_df, *variance.injection_df]
    for part, df, reference in zip(parts, dfs, facts["variance_parts"], strict=True):
        assert (part, df) == pytest.approx((float(Fraction(reference["value"])), reference["df"]), abs=1e-15)
    assert variance.se == pytest.approx(facts["se"], abs=NEAR)
    assert variance.df == pytest.approx(facts["df"], abs=NEAR)
    assert variance.df is not None
    assert t_quantile(variance.df) == pytest.approx(facts["t"], abs=NEAR)
    assert floor_half_width(7) == pytest.approx(facts["floor_halfwidth"], abs=NEAR)
    interval = difference_interval(float(drop), variance, 7, departing)
    assert interval.floored is facts["floored"]
    assert (interval.low, interval.high) == pytest.approx(facts["interval"], abs=NEAR)
    bare = difference_interval(float(drop), variance, 7, departing=10)
    assert (bare.high - bare.low) / 2 == pytest.approx(facts["t_se_halfwidth"], abs=NEAR)
    p = p_attacked_above_benign(float(drop), variance)
    assert p is not None
    assert 0.85 < p < 0.95

    fixed = expected["drop_fixed_injections"]
    assert naive_variance(differences, (by_task,)) == Fraction(fixed["variance_fraction"])
    variance = clustered_variance(values, weights, hand.crossing, sample_injections=False)
    assert variance.value == pytest.approx(float(Fraction(fixed["variance_fraction"])), rel=1e-12)
    assert variance.df == pytest.approx(fixed["df"], abs=NEAR)
    interval = difference_interval(float(drop), variance, 7, departing)
    assert (interval.low, interval.high) == pytest.approx(fixed["interval"], abs=NEAR)


def test_weightings_are_never_mixed(hand: Hand, expected: Any) -> None:
    micro = {key: Fraction(value) for key, value in expected["micro"].items() if key != "note"}
    benign, attacked = hand.benign_counts(), hand.attacked_counts(lambda e: e.utility)
    under_attack = weighted_mean(*attacked, hand.crossing, "cell")
    assert under_attack == micro["attacked_mean_of_cells"]
    assert weighted_mean(*benign, hand.crossing, "cell") == micro["benign_weighted_like_cells"]
    assert weighted_mean(*benign, hand.crossing, "task") == micro["benign_mean_of_tasks"]
    assert weighted_mean(*benign, hand.crossing, "cell") - under_attack == micro["matched_micro_drop"]
    mixed = weighted_mean(*benign, hand.crossing, "task") - under_attack
    assert mixed == micro["agentdojo_style_drop_mixed_weights"]
    assert Fraction(sum(attacked[0]), sum(attacked[1])) == micro["attacked_mean_of_episodes"]


def test_group_contributions_add_up(hand: Hand) -> None:
    attacked = hand.attacked_counts(lambda e: e.utility)
    for weighting in ("task", "cell", "group"):
        parts = weighted_mean_by_group(*attacked, hand.crossing, weighting)
        assert sum(parts) == weighted_mean(*attacked, hand.crossing, weighting)


def test_bounds(hand: Hand, expected: Any) -> None:
    """An aborted episode may have failed or passed: the worst and the best that the planned cells allow."""
    counts: dict[Cell, list[int]] = defaultdict(lambda: [0, 0, 0])
    for episode in hand.all:
        if episode.arm == "attacked":
            cell = counts[episode.suite, episode.task, episode.injection or ""]
            cell[0] += bool(episode.utility)
            cell[1] += bool(episode.utility) or episode.aborted
            cell[2] += 1
    cells = sorted(counts)
    crossing = Crossing.of(*hand.codes(cells))
    low, high, n = zip(*(counts[cell] for cell in cells), strict=True)
    bounds = [weighted_mean(passed, n, crossing, "task") for passed in (low, high)]
    assert bounds == [Fraction(x) for x in expected["under_attack_completion_bounds_if_aborts_fail_or_succeed"]]


def test_flips(hand: Hand, expected: Any) -> None:
    flips = expected["flips"]
    pairs = [pair for cell in hand.cells for pair in hand.pairs(cell)]
    table = fourfold(*(np.array([bool(pair[i].utility) for pair in pairs]) for i in (0, 1)))
    assert (table.total, table.both, table.first_only, table.second_only, table.neither) == tuple(
        flips[key] for key in ("pairs", "both", "lost", "gained", "neither")
    )
    assert table.difference == Fraction(flips["net_flip_rate"])
    p = mcnemar_exact(table.first_only, table.second_only).p_two_sided
    assert p == pytest.approx(flips["mcnemar_exact_p_not_valid_here"], abs=NEAR)
    reruns = [by_seed for by_seed in hand.benign.values() if len(by_seed) == 2]
    again = fourfold(*(np.array([bool(by_seed[seed].utility) for by_seed in reruns]) for seed in (0, 1)))
    assert again.flip_rate == Fraction(flips["benign_seed0_vs_seed1_disagreements"])


def test_exact_blocks(hand: Hand, expected: Any) -> None:
    blocks: dict[tuple[Task, int], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for episode in hand.all:
        if episode.aborted or episode.arm not in ("benign", "attacked"):
            continue
        at = 0 if episode.arm == "benign" else 2
        blocks[(episode.suite, episode.task), episode.seed][at] += bool(episode.utility)
        blocks[(episode.suite, episode.task), episode.seed][at + 1] += 1
    rows = [row for row in blocks.values() if row[1] and row[3]]
    facts = expected["exact_block_test"]
    assert len(rows) == facts["blocks"]
    assert sum(row[0] for row in rows) == facts["benign_successes"]
    found = block_test(*zip(*rows, strict=True))
    for key in ("p_two_sided", "p_harm", "p_gain"):
        assert getattr(found, key) == pytest.approx(facts[key], abs=NEAR)


def conditional(
    hand: Hand, hit: Callable[[Episode], Any], exposed: Callable[[Episode], Any], weighting: Weighting = "task"
) -> ConditionalRate:
    hits, n = hand.attacked_counts(lambda e: exposed(e) and hit(e))
    return conditional_rate(hits, hand.attacked_counts(exposed)[0], n, hand.crossing, weighting)


def on_clean_success(hand: Hand) -> ConditionalRate:
    pairs = [hand.pairs(cell) for cell in hand.cells]
    hits = [sum(bool(b.utility and a.utility) for b, a in cell) for cell in pairs]
    exposed = [sum(bool(b.utility) for b, _ in cell) for cell in pairs]
    return conditional_rate(hits, exposed, [len(cell) for cell in pairs], hand.crossing, "task")


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("completion_given_clean", on_clean_success),
        ("completion_given_delivered", lambda h: conditional(h, lambda e: e.utility, lambda e: e.delivered)),
        (
            "non_delivery_share_of_completions",
            lambda h: conditional(h, lambda e: not e.delivered, lambda e: e.utility),
        ),
        (
            "non_delivery_share_of_resisted",
            lambda h: conditional(h, lambda e: not e.delivered, lambda e: not e.attack_success),
        ),
    ],
)
def test_conditional_rates(hand: Hand, expected: Any, name: str, rate: Callable[[Hand], ConditionalRate]) -> None:
    found, facts = rate(hand), expected[name]
    assert found.weight == Fraction(facts["denominator_weight"])
    assert found.contributing_tasks == facts["contributing_tasks"]
    assert found.value is not None
    variance = clustered_variance(
        found.influence, cell_weights(hand.crossing, "task"), hand.crossing, sample_injections=True
    )
    check_rate(found.value, variance, found.contributing_tasks, facts)
    assert found.refusal == f"needs at least 20 contributing tasks, found {facts['contributing_tasks']}"


def test_the_three_denominators(hand: Hand, expected: Any) -> None:
    facts = {key: Fraction(value) for key, value in expected["three_denominators"].items()}
    assert weighted_mean(*hand.attacked_counts(lambda e: e.utility), hand.crossing, "task") == facts["whole_suite"]
    assert on_clean_success(hand).value == facts["clean_success_only"]
    assert conditional(hand, lambda e: e.utility, lambda e: e.delivered).value == facts["delivered_only"]


def test_seven_tasks_support_no_interval(hand: Hand) -> None:
    scope = decide_scope(hand.crossing)
    assert scope.name == "these-injections"
    assert scope.no_interval_reason == "an interval needs at least 10 tasks, found 7"

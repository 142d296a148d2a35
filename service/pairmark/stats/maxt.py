"""Which capability tags go with a larger drop: permutation test over all tags at once (Westfall-Young max-T).

The unit is the task: its mean drop, and its row of tags. Tasks of one group are exchangeable if no tag matters, so
whole tag rows change places inside groups; that keeps the correlation between tags, and the largest statistic over
tags then corrects for having looked at all of them (Westfall and Young, Resampling-Based Multiple Testing, 1993).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pairmark.stats.arrays import BoolArray, FloatArray, IntArray, compact, integers, reals, same_length, sums_by

MIN_TASKS_EACH_SIDE = 8
DEFAULT_PERMUTATIONS = 9999
_TIE = 1e-9
"""Statistics closer than this are equal: the same sum in another order must not decide a p-value."""
_CHUNK_CELLS = 2**20
_FEWEST_ROWS = 64
"""With fewer rows at a time a matrix product costs more than it does."""
_CACHED_CELLS = 2**16
"""Keys that fit a processor's cache."""


@dataclass(frozen=True, slots=True)
class TagEffect:
    """One tag against the rest, inside groups. Numbers are None where `reason` says why the tag is not tested."""

    tag: int
    """Column of the tag."""
    carrying: int
    lacking: int
    difference: float | None
    """Mean drop of tasks that carry the tag less that of those that lack it, inside groups, in [-2, 2]."""
    statistic: float | None
    """The difference in units of its standard deviation under permutation."""
    p_value: float | None
    """Two-sided, of this tag alone."""
    p_adjusted: float | None
    """Corrected for all tags tested here (step-down max-T), at least `p_value`."""
    reason: str | None


def tag_effects(
    drops: npt.ArrayLike, tags: npt.NDArray[np.bool_], group: npt.ArrayLike, *, seed: int, permutations: int
) -> list[TagEffect]:
    """Test every tag of the tasks; one effect per column of `tags`, in order.

    `drops` is the mean drop of each task, shape (tasks,); `tags` says who carries what, shape (tasks, tags); `group`
    is each task's group code. A tag is tested where at least 8 tasks carry it, 8 lack it, and some group has both.
    Groups weigh by n1 n0 / (n1 + n0), the weights of least variance. Equal arguments give equal results: the random
    numbers are PCG64's, from `seed`. Smallest p: 1 / (permutations + 1).

    Raises ValueError for columns that differ in length, tags that are not boolean, a negative seed, or no permutations.
    """
    d = reals(drops, "drops")
    groups = integers(group, "group")
    if tags.ndim != 2 or tags.dtype != np.bool_:
        raise ValueError(
            f"tags: expected a two-dimensional boolean array, found {tags.ndim} dimensions of {tags.dtype}"
        )
    same_length(d.size, tags.shape[0], "tags")
    same_length(d.size, groups.size, "group")
    if permutations < 1:
        raise ValueError(f"permutations: expected at least 1, found {permutations}")
    if seed < 0:
        raise ValueError(f"seed: expected at least 0, found {seed}")
    groups, group_count = compact(groups)

    centred = np.zeros(tags.shape)
    for k in range(tags.shape[1]):
        centred[:, k] = _centred(tags[:, k].astype(np.float64), groups, group_count)
    deviations = _centred(d, groups, group_count)
    reasons = [_reason(tags[:, k], centred[:, k]) for k in range(tags.shape[1])]
    tested = [k for k, reason in enumerate(reasons) if reason is None]
    spread = _permutation_sd(centred[:, tested], deviations, groups, group_count)
    observed = _statistics(centred[:, tested], deviations[None, :], spread)[0]
    p_single, p_adjusted = _permuted(centred[:, tested], deviations, groups, spread, observed, seed, permutations)

    effects = []
    for k, reason in enumerate(reasons):
        carrying = int(np.count_nonzero(tags[:, k]))
        if reason is not None:
            effects.append(TagEffect(k, carrying, d.size - carrying, None, None, None, None, reason))
            continue
        at = tested.index(k)
        difference = float(np.sum(centred[:, k] * deviations) / np.sum(centred[:, k] ** 2))
        values = (float(observed[at]), float(p_single[at]), float(p_adjusted[at]))
        effects.append(TagEffect(k, carrying, d.size - carrying, difference, *values, None))
    return effects


def _reason(carries: BoolArray, centred: FloatArray) -> str | None:
    carrying = int(np.count_nonzero(carries))
    lacking = carries.size - carrying
    if min(carrying, lacking) < MIN_TASKS_EACH_SIDE:
        return (
            f"needs at least {MIN_TASKS_EACH_SIDE} tasks with the tag and {MIN_TASKS_EACH_SIDE} without,"
            f" found {carrying} and {lacking}"
        )
    if not bool(np.any(np.abs(centred) > _TIE)):
        return "needs a group with both tasks that carry the tag and tasks that lack it, found none"
    return None


def _centred(values: FloatArray, groups: IntArray, group_count: int) -> FloatArray:
    """Values less the mean of their group."""
    means = sums_by(groups, values, group_count) / np.maximum(np.bincount(groups, minlength=group_count), 1)
    return values - means[groups]


def _permutation_sd(tags: FloatArray, deviations: FloatArray, groups: IntArray, group_count: int) -> FloatArray:
    """Standard deviation, over all permutations inside groups, of each tag's sum of deviations; shape (tags,)."""
    sizes = np.bincount(groups, minlength=group_count).astype(np.float64)
    variance = np.divide(
        sums_by(groups, deviations**2, group_count), sizes - 1, out=np.zeros(group_count), where=sizes > 1
    )
    columns = [sums_by(groups, tags[:, k] ** 2, group_count) for k in range(tags.shape[1])]
    return np.sqrt(np.array([float(np.sum(column * variance)) for column in columns], dtype=np.float64))


def _statistics(tags: FloatArray, deviations: FloatArray, spread: FloatArray) -> FloatArray:
    """Standardised sums, shape (permutations, tags); 0 where nothing varies."""
    sums: FloatArray = deviations @ tags
    statistics: FloatArray = np.divide(sums, spread, out=np.zeros_like(sums), where=spread > _TIE)
    return statistics


def _permuted(
    tags: FloatArray,
    deviations: FloatArray,
    groups: IntArray,
    spread: FloatArray,
    observed: FloatArray,
    seed: int,
    permutations: int,
) -> tuple[FloatArray, FloatArray]:
    """The p of each tag alone, and adjusted: step-down from the largest statistic, made monotone."""
    count = observed.size
    rank = np.argsort(-np.abs(observed), kind="stable")
    thresholds = np.abs(observed)[rank] - _TIE
    single, stepped = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    random = np.random.PCG64(seed)
    by_group = np.argsort(groups, kind="stable")
    sorted_groups, sorted_deviations, sorted_tags = groups[by_group], deviations[by_group], tags[by_group]
    step = max(_FEWEST_ROWS, _CHUNK_CELLS // max(1, groups.size))
    for begin in range(0, permutations if count else 0, step):
        rows = min(step, permutations - begin)
        # Permuting the drops against fixed tag rows is the same as permuting the tag rows.
        permuted = _shuffled(sorted_deviations, sorted_groups, random, rows)
        found = np.abs(_statistics(sorted_tags, permuted, spread))[:, rank]
        single += np.count_nonzero(found >= thresholds, axis=0)
        # Largest over the tags that are not yet decided: this one and all with a smaller statistic.
        largest = np.maximum.accumulate(found[:, ::-1], axis=1)[:, ::-1]
        stepped += np.count_nonzero(largest >= thresholds, axis=0)
    p_single, p_adjusted = np.empty(count), np.empty(count)
    p_single[rank] = (1 + single) / (permutations + 1)
    p_adjusted[rank] = np.maximum.accumulate((1 + stepped) / (permutations + 1))
    return p_single, p_adjusted


def _shuffled(values: FloatArray, groups: IntArray, random: np.random.PCG64, rows: int) -> FloatArray:
    """The values in random orders, each staying in its group, shape (rows, values); `groups` is ascending.

    A key is the group, random bits and the position, so that sorting the keys shuffles the positions; no two keys are
    equal, and raw bits of the generator are the same in every version of numpy.
    """
    position_bits = int(values.size - 1).bit_length()
    group_bits = int(groups[-1]).bit_length()
    positions = np.uint64(2**position_bits - 1)
    bits = np.uint64(2 ** (64 - group_bits) - 1) ^ positions
    fixed = np.arange(values.size, dtype=np.uint64)
    if group_bits:
        fixed |= groups.astype(np.uint64) << np.uint64(64 - group_bits)
    shuffled = np.empty((rows, values.size))
    step = max(1, _CACHED_CELLS // values.size)
    for begin in range(0, rows, step):
        keys = random.random_raw((min(step, rows - begin), values.size))
        keys &= bits
        keys |= fixed
        keys.sort(axis=1)
        keys &= positions
        shuffled[begin : begin + step] = values[keys]
    return shuffled

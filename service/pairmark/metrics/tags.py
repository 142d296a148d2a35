"""Capability tags: which kinds of tasks lose more to the attack than the rest."""

from __future__ import annotations

import numpy as np

from pairmark.domain.contrast import contrast_of
from pairmark.domain.documents.metric_values import NoInterval, TagTest, UntestedTag
from pairmark.domain.documents.probability import probability
from pairmark.domain.evidence import Flags
from pairmark.domain.pairing import Pairing
from pairmark.domain.plan import Codes
from pairmark.domain.worked import worked
from pairmark.metrics.base import Metric
from pairmark.stats.exact import decimal_string
from pairmark.stats.maxt import DEFAULT_PERMUTATIONS, MIN_TASKS_EACH_SIDE, TagEffect, tag_effects

FEWEST_PERMUTATIONS = 199
DRAWS = 2_500_000
"""Permuted tasks in all: suites with more than 250 tasks get fewer permutations than the default."""

NO_INTERVAL = NoInterval(reason="a permutation test: it has a p-value, and no interval")


def compute(pairing: Pairing) -> tuple[TagTest | UntestedTag, ...]:
    """Every tag of the suite, by code point. Tags too rare or too common among the tasks that count are not tested."""
    contrast = contrast_of(pairing)
    if contrast is None:
        return ()
    crossing = contrast.crossing
    means = np.bincount(crossing.task, weights=contrast.differences) / crossing.cells_per_task()
    tasks = contrast.sample.task_codes
    names, carried = _carried(pairing, tasks)
    carrying = carried.sum(axis=0)
    common = np.minimum(carrying, len(tasks) - carrying) >= MIN_TASKS_EACH_SIDE
    permutations = max(FEWEST_PERMUTATIONS, min(DEFAULT_PERMUTATIONS, DRAWS // len(tasks)))
    tested = tag_effects(
        means, carried[:, common], pairing.plan.task_group[tasks], seed=pairing.seed, permutations=permutations
    )
    at = dict(zip(np.flatnonzero(common).tolist(), tested, strict=True))
    return tuple(
        _document(name, int(carrying[column]), len(tasks), at.get(column), pairing.seed, permutations)
        for column, name in enumerate(names)
    )


def _carried(pairing: Pairing, tasks: Codes) -> tuple[list[str], Flags]:
    """The suite's tags, sorted, and which of `tasks` carries which, shape (tasks, tags)."""
    all_tasks = pairing.plan.suite.tasks
    names = sorted({tag for task in all_tasks for tag in task.tags})
    column = {name: index for index, name in enumerate(names)}
    carried = np.zeros((len(tasks), len(names)), dtype=np.bool_)
    of_task = [all_tasks[code].tags for code in tasks.tolist()]
    columns = [column[tag] for tags in of_task for tag in tags]
    carried[np.repeat(np.arange(len(tasks)), [len(tags) for tags in of_task]), columns] = True
    return names, carried


def _document(
    name: str, carrying: int, tasks: int, effect: TagEffect | None, seed: int, permutations: int
) -> TagTest | UntestedTag:
    lacking = tasks - carrying
    if effect is None or effect.difference is None or effect.p_value is None or effect.p_adjusted is None:
        reason = (
            f"needs at least {MIN_TASKS_EACH_SIDE} tasks with the tag and {MIN_TASKS_EACH_SIDE} without"
            if effect is None or effect.reason is None
            else effect.reason
        )
        return UntestedTag(tag=name, carrying=carrying, lacking=lacking, difference=None, reason=reason)
    return TagTest(
        tag=name,
        carrying=carrying,
        lacking=lacking,
        difference=decimal_string(effect.difference),
        interval=NO_INTERVAL,
        method="max-t-permutation",
        p_value=probability(effect.p_value),
        p_adjusted=probability(effect.p_adjusted),
        seed=seed,
        permutations=permutations,
    )


METRIC = Metric(
    key="tags",
    title="Kinds of tasks that lose more to the attack",
    formula="mean drop of the tasks that carry a tag less that of those that lack it, inside groups; p-values from"
    " permutations of tag rows over tasks inside groups, adjusted over tags by the largest statistic (step-down max-T)",
    source="Westfall and Young, Resampling-Based Multiple Testing, 1993",
    denominator="tasks assessed in both arms, each counting once; tags that at least 8 carry and 8 lack",
    direction="neither",
    compute=compute,
    example=lambda: (
        worked({"a": "1", "b": "1"}, {"a": {"x": "0"}, "b": {"x": "1"}}, tags={"a": ["multi-hop"]}),
        [
            {
                "tag": "multi-hop",
                "carrying": 1,
                "lacking": 1,
                "difference": None,
                "reason": "needs at least 8 tasks with the tag and 8 without",
            }
        ],
    ),
)

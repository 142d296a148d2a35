"""Which logs make one run: same task, model, configuration and packages; and which epochs and attempts they hold of it.

Logs of one evaluation share Inspect's task id: `inspect eval-retry` writes a further log of it, which is its next attempt. Logs
of different evaluations are parts of a run where they share no sample, and further epochs of it where they hold the same samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairmark.domain.errors import Malformed, shown
from pairmark.importers.inspect.header import one_run_facts, version_facts
from pairmark.importers.inspect.log_file import Log
from pairmark.importers.inspect.mapping import InspectMapping


@dataclass(frozen=True)
class Evaluation:
    """Logs of one evaluation in the order they were written.

    Attributes:
        sample_ids: ids that were planned, in order; null where a log does not say.
        epochs: number of epochs that were planned.
    """

    logs: tuple[Log, ...]
    sample_ids: tuple[str | int, ...] | None
    epochs: int


def check_one_run(logs: Sequence[Log], mapping: InspectMapping) -> None:
    """Refuse logs that are not of one run.

    Raises:
        Malformed: naming the fact, its values and a log of each.
    """
    _check_facts((log.path, one_run_facts(log.header, mapping)) for log in logs)


def one_version(logs: Sequence[Log]) -> str:
    """The task's version, on which all logs agree, as they do on the task and on the packages.

    Raises:
        Malformed: naming the fact, its values and a log of each.
    """
    _check_facts((log.path, version_facts(log.header)) for log in logs)
    header = logs[0].header
    full = (header.eval.metadata or {}).get("full_task_version")
    return full if isinstance(full, str) and full else str(header.eval.task_version)


def _check_facts(each: Iterable[tuple[Path, dict[str, str]]]) -> None:
    seen: dict[str, dict[str, Path]] = {}
    for path, facts in each:
        for fact, value in facts.items():
            seen.setdefault(fact, {}).setdefault(value, path)
    for fact, values in seen.items():
        if len(values) > 1:
            listed = "; ".join(f"{shown(value, 120)} in {path}" for value, path in values.items())
            raise Malformed(
                f"mixed-{fact.replace(' ', '-')}",
                f"expected one value of {fact} in one run, found {listed}",
                remedy="import logs of one configuration as one run, the others as another",
            )


def evaluations(logs: Sequence[Log]) -> list[Evaluation]:
    """The evaluations that the logs are of, in the order given."""
    by_task: dict[str, list[Log]] = {}
    for log in logs:
        by_task.setdefault(log.header.eval.task_id or str(log.path), []).append(log)
    found: list[Evaluation] = []
    for attempts in by_task.values():
        attempts.sort(key=lambda log: (str(log.header.eval.created), log.path.name))
        ids = _planned(attempts)
        epochs = max(log.header.eval.config.epochs or 1 for log in attempts)
        found.append(Evaluation(tuple(attempts), ids, epochs))
    return found


def _planned(attempts: Sequence[Log]) -> tuple[str | int, ...] | None:
    """The ids of every attempt, each once: a later one may be for fewer."""
    each: list[Any] = [log.header.eval.dataset.sample_ids for log in attempts]
    return None if any(ids is None for ids in each) else tuple(dict.fromkeys(one for ids in each for one in ids))


def epochs_before(earlier: Sequence[Evaluation], evaluation: Evaluation) -> int:
    """How many epochs of its samples lie in `earlier` evaluations of the same arm: its own are numbered on from there.

    Raises:
        Malformed: two evaluations share some samples only, or several do not say which they planned.
    """
    ids, path = evaluation.sample_ids, evaluation.logs[0].path
    offset = 0
    for other in earlier:
        if ids is None or other.sample_ids is None:
            raise Malformed(
                "no-sample-ids",
                "expected logs that list their sample ids where there are several, found one that does not",
                str(path if ids is None else other.logs[0].path),
                remedy="read and write the log once with Inspect, which then lists them",
            )
        common = set(ids) & set(other.sample_ids)
        if not common:
            continue
        if set(ids) != set(other.sample_ids):
            raise Malformed(
                "overlapping-logs",
                f"expected logs that share all of their samples (epochs) or none (parts), found {len(common)} in common of"
                f" {len(set(ids))}, with {other.logs[0].path}",
                str(path),
                remedy="leave one of the two out",
            )
        offset += other.epochs
    return offset

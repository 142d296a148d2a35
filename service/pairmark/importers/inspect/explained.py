"""How a run was made out of its logs: where each fact stands in them, which values were seen, what each became, what is still unknown."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from pairmark.importers.base import MOST_READINGS, ArmName, Fact, Reading, Understood
from pairmark.importers.inspect.mapping import IdPlace, IdPlaces, InspectMapping, Verdict
from pairmark.importers.inspect.outcome import json_text
from pairmark.importers.inspect.records import RECORDS

_MOST_DISTINCT = 10_000
"""Values of a column that are counted apart; further ones are counted together."""
_ATTACKED_ONLY = frozenset({"injection_id", "attack_success", "delivered", "attacker_actions"})
_COUNTED = ("epoch", "attacker_actions", "served_model", "attempt")
_FACTS: Mapping[str, Fact] = {"attempt": "attempts"}


@dataclass
class Readings:
    """What columns were read from, and what became of it: counted while rows are kept, bounded."""

    _seen: defaultdict[str, Counter[tuple[str, str | None]]] = field(default_factory=lambda: defaultdict(Counter))
    _dropped: Counter[str] = field(default_factory=Counter)

    def add(self, read: Mapping[str, str], row: Mapping[str, Any]) -> None:
        """Count a row, by what its columns were read from."""
        for column, value in read.items():
            seen, pair = self._seen[column], (value, _meaning(row.get(column)))
            if pair in seen or len(seen) < _MOST_DISTINCT:
                seen[pair] += 1
            else:
                self._dropped[column] += 1

    def of(self, column: str) -> tuple[tuple[Reading, ...], int]:
        """The most frequent readings of a column, and how many more there are."""
        ordered = sorted(self._seen[column].items(), key=lambda item: (-item[1], item[0][0], item[0][1] or ""))
        readings = tuple(Reading(value, rows, meaning) for (value, meaning), rows in ordered[:MOST_READINGS])
        return readings, max(0, len(ordered) - MOST_READINGS) + self._dropped[column]


def columns_understood(ledger: pl.DataFrame, read: Readings, mapping: InspectMapping, arm: ArmName, epoch: int | None) -> Iterator[Understood]:
    """How each column of the ledger was made out."""
    sources = {**_column_sources(mapping), **({} if epoch is None else {"epoch": "the number that was given"})}
    for name in ledger.columns:
        column = ledger[name]
        if arm == "benign" and name in _ATTACKED_ONLY:
            yield Understood(name, None, len(column), column.null_count())
            continue
        readings, further = _values(column) if name in _COUNTED else read.of(name)
        yield Understood(name, sources[name] if name in sources else _how(name), len(column), column.null_count(), readings, further)


def run_understood(
    run: Mapping[str, Any], in_logs: Mapping[str, Any], given: Mapping[str, Any], mapping: InspectMapping, attack: str | None
) -> Iterator[Understood]:
    """How each key of the run document was made out that a log may say.

    Args:
        run: the document.
        in_logs: what the logs record of it, with the same keys.
        given: what was said beside the logs, with the same keys.
        mapping: what the task's values mean.
        attack: the attack's name where it was given.
    """
    if run["attack"] is not None:
        name = run["attack"]["name"]
        yield _fact("attack.name", "--attack" if attack is not None else f"the header at {mapping.attack}", name)
        yield _fact("attack.digest", "the wording of the attack in the plan", run["attack"]["digest"])
    for path, source in _RUN_SOURCES.items():
        said, recorded = _at(given, path), _at(in_logs, path)
        value = _at(run, path)
        if said is not None and value != recorded:
            source = f"{source}; what is not there from --system" if isinstance(recorded, Mapping) else "--system"
        yield _fact(path, source, value)
    seeds = [epoch["seed"] for epoch in run["epochs"]]
    source = RECORDS["seeds"].how if given.get("epochs") is None else "--system"
    yield _fact("epochs.seed", source, None if None in seeds else seeds)


def _fact(path: str, source: str | None, value: Any) -> Understood:
    readings = () if value is None else (Reading(json_text(value), 1, json_text(value)),)
    return Understood(path, source, 1, int(value is None), readings)


_RUN_SOURCES: dict[str, str | None] = {
    "system.model.requested": RECORDS["requested_model"].how,
    "system.model.served": RECORDS["served_model"].how,
    "system.model.provider": RECORDS["provider"].how,
    "system.decoding": RECORDS["decoding"].how,
    "system.tools_digest": RECORDS["tools_digest"].how,
    "system.system_prompt_digest": RECORDS["system_prompt_digest"].how,
    "system.scaffold": RECORDS["scaffold"].how,
    "system.defenses": None,  # a solver may be one or not
    "system.limits": RECORDS["limits"].how,
    "harness.version": RECORDS["harness_version"].how,
    "harness.commit": "`eval.revision`, of a working tree without changes",
    "harness.image": "the sandbox of the task and of the samples, of whose image no digest is recorded",
    "retries.max_attempts": "`eval.config.retry_on_error`, in each log of an evaluation",
    "started_at": RECORDS["times"].how,
    "finished_at": RECORDS["times"].how,
}


def _at(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _column_sources(mapping: InspectMapping) -> dict[str, str | None]:
    group = "" if mapping.group is None else f"; where the manifest has several groups, below that of {_places(mapping.group)}"
    return {
        "task_id": f"{_places(mapping.task_id)}{group}",
        "injection_id": None if mapping.injection_id is None else f"{_places(mapping.injection_id)}{group}",
        "epoch": "`epoch`, numbered on over further evaluations of the same samples",
        "status": "`error`, `invalidation` or `limit`, else why the last answer of the model stopped",
        "utility": _verdict(mapping.utility),
        "attack_success": None if mapping.attack_success is None else f"{_verdict(mapping.attack_success)}; true: the attacker's goal was reached",
        "delivered": _payload(mapping),
    }


def _places(places: IdPlaces) -> str:
    each = (places,) if isinstance(places, IdPlace) else places
    return ", else ".join(
        place.pointer
        + ("" if place.pattern is None else f", the part in brackets of {place.pattern}")
        + ("" if place.format is None else f", written {place.format}")
        for place in each
    )


def _verdict(verdict: Verdict) -> str:
    score = " or ".join(f"`{name}`" for name in verdict.scorers)
    score = f"the score of {score}" if verdict.key is None else f"`{verdict.key}` in the score of {score}"
    if verdict.at_least is not None:
        return f"{score}: true from {verdict.at_least:g} on"
    if verdict.below is not None:
        return f"{score}: true below {verdict.below:g}"
    true, false = (", ".join(map(json_text, values or ())) or "no value" for values in (verdict.true, verdict.false))
    return f"{score}: true for {true}, false for {false}"


def _payload(mapping: InspectMapping) -> str | None:
    payload = mapping.payload
    texts = [f"the text at {pointer}" for pointer in payload.texts]
    if payload.template is not None:
        worded = payload.template
        texts.append(f"what `{worded.param}` of `{worded.solver}` words, as it stands in {worded.environment}")
    if not texts:
        return None
    return f"{', or '.join(texts)}, found in a message of role {' or '.join(mapping.shown_in) or '(none)'} that an answered call was given"


def _how(column: str) -> str | None:
    recorded = RECORDS.get(_FACTS.get(column, column))  # type: ignore[call-overload]
    return None if recorded is None else recorded.how


def _values(column: pl.Series) -> tuple[tuple[Reading, ...], int]:
    counts = column.drop_nulls().value_counts(sort=True).sort("count", column.name, descending=[True, False]).rows()
    readings = tuple(Reading(_meaning(value) or "", rows, _meaning(value)) for value, rows in counts[:MOST_READINGS])
    return readings, max(0, len(counts) - MOST_READINGS)


def _meaning(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)

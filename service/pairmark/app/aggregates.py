"""Aggregates: counts without episodes, kept as uncertifiable with the reason, never part of history by default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from pairmark.app.history_entry import DEFINITION, RATES, named_versions
from pairmark.app.moments import moment
from pairmark.app.ports import UNKNOWN_MIX, HistoryEntry, NewId, Tables
from pairmark.app.stored import stored_document
from pairmark.domain.canonical import canonical_bytes, digest_of
from pairmark.domain.documents.aggregate import Aggregate, ArmAggregate, Reason
from pairmark.domain.documents.run import REQUIRED_DECODING_KEYS
from pairmark.domain.errors import NotFound, shown
from pairmark.stats.exact import decimal_string

NO_INTERVAL = "without episodes nobody can say how the outcomes hang together, so there is no interval"
TWO_WEIGHTINGS = "benign counts weigh every task once and attacked counts every cell: without episodes there is no difference"
MISSING_SHARE = Fraction(1, 20)


@dataclass(frozen=True)
class AggregateKept:
    """An aggregate as stored; `new` if this call stored it."""

    id: str
    document: str
    content: bytes
    new: bool


def submit_aggregate(tables: Tables, aggregate: Aggregate, value: dict[str, Any], new_id: NewId, now: datetime) -> AggregateKept:
    """Keep `aggregate`, written as `value`, for the record. The same document again is the same record."""
    document, content = digest_of(value), canonical_bytes(value)
    there = tables.aggregates.of_document(document)
    if there is not None:
        return AggregateKept(there, document, content, False)
    aggregate_id, at = new_id("aggregate"), moment(now)
    tables.documents.put(document, content)
    tables.aggregates.add(aggregate_id, document, at)
    tables.history.add(aggregate_entry(aggregate, aggregate_id, at, _listed_under(tables, aggregate)))
    return AggregateKept(aggregate_id, document, content, True)


def read_aggregate(tables: Tables, aggregate_id: str) -> AggregateKept:
    """The aggregate with this id.

    Raises:
        NotFound: there is none.
    """
    document = tables.aggregates.of_id(aggregate_id)
    if document is None:
        raise NotFound(
            "unknown-aggregate", f"expected the id of an aggregate, found {shown(aggregate_id)}",
            "pairmark history SUITE --include incomparable (GET /v1/history) lists them",
        )
    return AggregateKept(aggregate_id, document, stored_document(tables, document), False)


def why_uncertifiable(aggregate: Aggregate) -> tuple[Reason, ...]:
    """The reasons given, and those that the document itself shows; each code once."""
    found = {reason.code: reason for reason in aggregate.reasons}
    for reason in _shown_reasons(aggregate):
        found.setdefault(reason.code, reason)
    return tuple(found.values())


def _shown_reasons(aggregate: Aggregate) -> list[Reason]:
    system, attacked = aggregate.system, aggregate.counts.attacked
    found = [Reason(code="episodes-missing", detail="only counts survive: no rule that looks at episodes can be checked")]
    if aggregate.suite.digest is None:
        found.append(Reason(code="mix-unknown", detail="the exact content of the cells is not recorded"))
    if system.model is None or not system.model.served:
        found.append(Reason(code="model-matches", detail="the served model is not recorded"))
    recorded = {} if system.decoding is None else system.decoding.recorded()
    unrecorded = [key for key in REQUIRED_DECODING_KEYS if key not in recorded]
    if unrecorded:
        found.append(Reason(code="decoding-matches", detail=f"decoding is not recorded: {', '.join(unrecorded)}"))
    for name, arm in (("benign", aggregate.counts.benign), ("attacked", attacked)):
        if arm.planned is not None and arm.planned - arm.assessed > MISSING_SHARE * arm.planned:
            detail = f"{arm.planned - arm.assessed} of {arm.planned} planned {name} episodes have no outcome"
            found.append(Reason(code=f"{name}-outcomes-missing", detail=detail))
    return found


def aggregate_metrics(aggregate: Aggregate) -> dict[str, Any]:
    """Rates without intervals: those worked out from the episodes if they were given, else successes over assessed.

    `bounds` count what was planned and not assessed as all failed and all passed; null where nobody planned.
    """
    counts, rates = aggregate.counts, aggregate.rates
    benign, attacked = _rate(counts.benign.utility, counts.benign.assessed), _rate(counts.attacked.utility, counts.attacked.assessed)
    success = _rate(counts.attacked.attack_success, counts.attacked.attack_success_known)
    drop: Fraction | None = None
    if rates is not None:
        benign, attacked, success = (
            None if text is None else Fraction(text)
            for text in (rates.benign_utility, rates.utility_under_attack, rates.attack_success_rate)
        )
        drop = None if benign is None or attacked is None else benign - attacked
    empty = "nothing was assessed"
    return {
        "weighting": None if rates is None else rates.weighting,
        "benign_utility": _number(benign, empty),
        "utility_under_attack": _number(attacked, empty),
        "utility_drop": _number(drop, TWO_WEIGHTINGS if rates is None else empty),
        "attack_success_rate": _number(success, "attack success was not reported"),
        "bounds": {"benign_utility": _bounds(counts.benign), "utility_under_attack": _bounds(counts.attacked)},
    }


def _listed_under(tables: Tables, aggregate: Aggregate) -> str:
    """The name that history lists it under: of a registered mix, that mix's own."""
    digest = aggregate.suite.digest
    labels = () if digest is None else tables.suites.of_digest(digest)
    return next((label.name for label in labels if label.digest == digest), aggregate.suite.name)


def aggregate_entry(aggregate: Aggregate, aggregate_id: str, at: str, suite_name: str) -> HistoryEntry:
    """The history line of an aggregate."""
    system, metrics = aggregate.system, aggregate_metrics(aggregate)
    model = system.model
    served = () if model is None or model.served is None else model.served
    requested = None if model is None else model.requested
    dumped = aggregate.model_dump(mode="json", by_alias=True)
    summary = {
        "aggregate": aggregate_id,
        "name": aggregate.name,
        "submitted_at": at,
        "system": {
            "model": {"requested": requested, "served": list(served)},
            "defenses": dumped["system"]["defenses"],
            "scaffold": dumped["system"]["scaffold"],
        },
        "attack": dumped["attack"],
        "harness": dumped["harness"],
        "counts": dumped["counts"],
        "flips": dumped["flips"],
        "clusters": dumped["clusters"],
        "metrics": metrics,
        "reasons": [reason.model_dump(mode="json") for reason in why_uncertifiable(aggregate)],
        "source": dumped["source"],
    }
    return HistoryEntry(
        certificate=aggregate_id,
        suite=UNKNOWN_MIX if aggregate.suite.digest is None else aggregate.suite.digest,
        weighting=metrics["weighting"] or "",
        definition=DEFINITION,
        created_at=at,
        metrics={rate: metrics[rate].get("fraction") for rate in RATES},
        names=named_versions(
            [requested, *served],
            None if system.defenses is None else [(item.name, item.version) for item in system.defenses],
            None if aggregate.attack is None else aggregate.attack.name,
            (aggregate.harness.name, aggregate.harness.version),
            None if system.scaffold is None else (system.scaffold.name, system.scaffold.version),
        ),
        summary=canonical_bytes(summary),
        suite_name=suite_name,
        status="uncertifiable",
    )


def _rate(successes: int | None, of: int | None) -> Fraction | None:
    return Fraction(successes, of) if successes is not None and of else None


def _number(value: Fraction | None, reason: str) -> dict[str, Any]:
    if value is None:
        return {"value": None, "reason": reason}
    return {**_exact(value), "interval": {"reason": NO_INTERVAL}}


def _exact(value: Fraction) -> dict[str, str]:
    return {"value": decimal_string(value), "fraction": f"{value.numerator}/{value.denominator}"}


def _bounds(arm: ArmAggregate) -> Mapping[str, Any] | None:
    if not arm.planned:
        return None
    missing = arm.planned - arm.assessed
    return {"low": _exact(Fraction(arm.utility, arm.planned)), "high": _exact(Fraction(arm.utility + missing, arm.planned))}

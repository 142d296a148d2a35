"""What files with a mapping record: what the mapping tells."""

from __future__ import annotations

from collections.abc import Mapping as ReadMapping

from pairmark.importers.base import FACTS, Fact, Recorded
from pairmark.importers.mapping import Mapping

_COLUMN: dict[Fact, str] = {
    "aborts": "status", "utility": "utility", "attack_success": "attack_success", "delivered": "delivered",
    "attacker_actions": "attacker_actions", "served_model": "served_model", "duration_ms": "duration", "error": "error",
    "task_digest": "task_digest", "attempts": "attempt", "seeds": "seed",
}  # fmt: skip
_RUN: dict[Fact, tuple[str, ...]] = {
    "requested_model": ("requested_model",), "provider": ("provider",), "decoding": ("temperature", "top_p", "max_tokens"),
    "system_prompt_digest": ("system_prompt",), "harness_version": ("harness_version",),
}  # fmt: skip
_NEVER: tuple[Fact, ...] = ("tools_digest", "scaffold", "defenses", "limits", "times")
_ABORTED = {"infra_error", "cancelled"}


def records_by(mapping: Mapping | None) -> ReadMapping[Fact, Recorded]:
    """Each fact, by the mapping; without one, what a mapping can say of it."""
    return {fact: _of(fact, mapping) for fact in FACTS}


def _of(fact: Fact, mapping: Mapping | None) -> Recorded:
    if fact in _NEVER:
        return Recorded("never", "a mapping has no column for it: give it with --system")
    if mapping is None:
        place = f"run.{_RUN[fact][0]}" if fact in _RUN else f"columns.{_COLUMN.get(fact, 'transcript')}"
        return Recorded("sometimes", f"where the mapping says {place}")
    told = _told(fact, mapping)
    if told is None:
        return Recorded("never", "the mapping names no column for it")
    return Recorded("sometimes", told)


def _told(fact: Fact, mapping: Mapping) -> str | None:
    columns, run = mapping.columns, mapping.run
    if fact == "aborts":
        given = columns.status
        meant: set[str | None] = {given.otherwise, *(pattern.means for pattern in given.patterns or ())}
        meant |= {name for name in _ABORTED if getattr(given, name)}
        return f"column {given.column}" if meant & _ABORTED else None
    if fact == "transcript_digest":
        source = columns.transcript if columns.transcript is not None else columns.transcript_digest
        return None if source is None else f"column {source.column}"
    if fact == "seeds" and columns.epoch is not None and columns.epoch.seeds is not None:
        return f"column {columns.epoch.column}, by the list of seeds"
    if fact in _RUN:
        named = [source.column for key in _RUN[fact] if run is not None and (source := getattr(run, key)) is not None]
        if fact == "harness_version" and mapping.harness.version is not None:
            named.append("the mapping itself")
        return f"column {', '.join(named)}" if named else None
    part = getattr(columns, _COLUMN[fact])
    if part is None:
        return None
    return f"column {part.column}" if part.column is not None else "a constant of the mapping"

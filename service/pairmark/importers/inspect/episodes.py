"""Rows of the ledger from one sample: one for each attempt that Inspect repeated, and one for the last."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pairmark.domain.documents.suite import SuiteManifest
from pairmark.importers.agentdojo.episodes import task_digest
from pairmark.importers.agentdojo.messages import transcript_digest
from pairmark.importers.inspect.mapping import InspectMapping, read_id, shown_id
from pairmark.importers.inspect.outcome import BROKE_OFF, Outcome, error_status, json_text, outcome_of, short
from pairmark.importers.inspect.payload import Wording
from pairmark.importers.inspect.search import UNKNOWN, Looked, Search
from pairmark.importers.inspect.turns import Conversation, conversation_of, text_of

_MAX_MILLISECONDS = 2**53 - 1


@dataclass(frozen=True)
class Ids:
    """How tasks and injections are called in the manifest: plain where it has one group, else `group/id`."""

    groups: frozenset[str]

    @classmethod
    def of(cls, suite: SuiteManifest) -> Ids:
        return cls(frozenset({task.group for task in suite.tasks} | {injection.group for injection in suite.injections}))

    def cell_of(self, sample: Any, mapping: InspectMapping) -> Cell | None:
        """The cell of a sample, or of what is known of one (`{"id": ...}`); null where its ids are not shown."""
        task = shown_id(mapping.task_id, sample)
        if task is None:
            return None
        group = read_id(mapping.group, sample)
        prefix = "" if group is None or len(self.groups) == 1 else f"{group}/"
        injection = shown_id(mapping.injection_id, sample)
        read = {"task_id": json_text(task[0])}
        if injection is not None:
            read["injection_id"] = json_text(injection[0])
        return Cell(f"{prefix}{task[1]}", None if injection is None else f"{prefix}{injection[1]}", group, read)


@dataclass(frozen=True)
class Cell:
    """A sample's place in the suite, without the epoch; `read`: what its ids were read from, as JSON."""

    task_id: str
    injection_id: str | None
    group: str | None
    read: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Episode:
    """A sample as rows, in the order of its attempts, with what was found on the way; `looked`: the search of an attacked cell.

    A row has beside the ledger's columns what some of them were read from, as `read`.
    """

    rows: tuple[dict[str, Any], ...]
    conversation: Conversation
    outcome: Outcome
    looked: Looked | None


def episode_of(
    sample: Any, cell: Cell, epoch: int, mapping: InspectMapping, words: tuple[Wording, ...], before: Sequence[str] = ()
) -> Episode:
    """The rows of a sample. Delivery and the attacker's actions are facts of attacked cells only.

    `before`: errors of the cell's attempts that are rows already, from earlier logs of the evaluation. `inspect eval-retry` carries
    them over into the sample: these are not counted again.
    """
    attacked = cell.injection_id is not None
    conversation = conversation_of(sample.events, mapping.roles)
    outcome = outcome_of(sample, mapping, conversation, attacked=attacked)
    place = {"task_id": cell.task_id, "injection_id": cell.injection_id, "epoch": epoch}
    repeated = list(sample.error_retries or ())
    carried = _carried([short(error.message) for error in repeated], before)
    first_attempt = len(before) + 1
    search = Search(sample, mapping, words)
    looked = search.look(conversation) if attacked else None
    delivery = UNKNOWN if looked is None else looked.delivery
    rows = [
        _repeated_row(cell, place, error, sample, mapping, search, first_attempt + index)
        for index, error in enumerate(repeated[carried:])
    ]
    is_aborted = outcome.status in ("infra_error", "cancelled")
    rows.append(
        {
            **place,
            "status": outcome.status,
            "utility": outcome.utility,
            "attack_success": outcome.attack_success,
            "delivered": None if is_aborted and not delivery.delivered else delivery.delivered,
            "attacker_actions": delivery.actions,
            "served_model": _served(conversation),
            "duration_ms": _milliseconds(sample.total_time),
            "error": outcome.error,
            "task_digest": recorded_task_digest(sample),
            "transcript_digest": transcript_digest(conversation.messages),
            "attempt": first_attempt + len(rows),
            "read": {**cell.read, **outcome.read, **({} if looked is None else {"delivered": f"({looked.why})"})},
        }
    )
    return Episode(tuple(rows), conversation, outcome, looked)


def _carried(errors: Sequence[str], before: Sequence[str]) -> int:
    """How many of a sample's repeated errors are the last of those that are rows already."""
    most = min(len(errors), len(before))
    return next((n for n in range(most, 0, -1) if list(before[len(before) - n :]) == list(errors[:n])), 0)


def _repeated_row(
    cell: Cell, place: Mapping[str, Any], error: Any, sample: Any, mapping: InspectMapping, search: Search, attempt: int
) -> dict[str, Any]:
    """An attempt that ended in an error and was repeated. Inspect keeps its events from the last model call on, at most."""
    delivered = None
    if place["injection_id"] is not None and error.events:
        delivered = search.look(conversation_of(error.events, mapping.roles)).delivery.delivered or None
    return {
        **place,
        "status": error_status(error.message),
        "delivered": delivered,
        "error": short(error.message),
        "task_digest": recorded_task_digest(sample),
        "attempt": attempt,
        "read": {**cell.read, **_broken_off(cell, "error_retries")},
    }


def _broken_off(cell: Cell, why: str) -> dict[str, str]:
    columns = ("utility",) if cell.injection_id is None else ("utility", "attack_success", "delivered")
    return {"status": why, **dict.fromkeys(columns, BROKE_OFF)}


def unread_row(cell: Cell, epoch: int, error: str, why: str, attempt: int = 1) -> dict[str, Any]:
    """The episode of a sample that could not be read or was never run: nothing is known of it. `why`: which of the two."""
    place = {"task_id": cell.task_id, "injection_id": cell.injection_id, "epoch": epoch}
    read = {**cell.read, **_broken_off(cell, why)}
    return {**place, "status": "cancelled", "error": short(error), "attempt": attempt, "read": read}


def prompt_text(sample: Any) -> str | None:
    """What the agent was asked: the sample's input, or of a conversation the last thing that the user says."""
    if isinstance(sample.input, str):
        return sample.input
    said = [message for message in sample.input if message.role == "user"]
    return text_of(said[-1].content)[0] if said else None


def recorded_task_digest(sample: Any) -> str | None:
    """Digest of the task as far as the sample shows it."""
    prompt = prompt_text(sample)
    try:
        return None if prompt is None else task_digest(prompt)
    except ValueError:  # a lone surrogate, which no digest covers
        return None


def _served(conversation: Conversation) -> str | None:
    """The model that answered; where several did, the last that is not the first: a fallback must not hide behind the rest."""
    return conversation.served[-1] if conversation.served else None


def _milliseconds(seconds: float | None) -> int | None:
    """Rounded; null where unknown, negative or beyond what a ledger holds."""
    if seconds is None or not math.isfinite(seconds) or not 0 <= seconds * 1000 <= _MAX_MILLISECONDS:
        return None
    return round(seconds * 1000)

"""What happened in a sample. An error is no outcome, a limit is one; a score that a person edited or a sample that one invalidated is said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pairmark.domain.documents.episode import Status
from pairmark.importers.inspect.mapping import InspectMapping, Verdict
from pairmark.importers.inspect.turns import Conversation

MAX_ERROR_CHARACTERS = 2000
MAX_READ_CHARACTERS = 200
"""Characters that are shown of a value that was read."""
NOT_IN_LOG = "planned, but not in the log: the evaluation was stopped or is not finished"
BROKE_OFF = "(attempts that broke off)"

_CANCELLED = ("CancelledError(", "Cancelled(")
_STOPS: dict[str, Status] = {"content_filter": "provider_block", "model_length": "agent_limit", "max_tokens": "agent_limit"}


@dataclass(frozen=True)
class Outcome:
    """The outcome columns of an episode.

    Attributes:
        unnamed: values of scores that the mapping takes for neither verdict, by column.
        read: what status and verdicts were read from, by column: a value as JSON, or in brackets why there is none.
    """

    status: Status
    utility: bool | None
    attack_success: bool | None
    error: str | None
    unnamed: Mapping[str, str]
    read: Mapping[str, str]


def outcome_of(sample: Any, mapping: InspectMapping, conversation: Conversation, *, attacked: bool) -> Outcome:
    """Status, verdicts and error text of a sample.

    Aborted samples have no utility. An attack that succeeded before the end did succeed; one that had not is unknown.
    """
    status, error, why = _end_of(sample, conversation)
    unnamed: dict[str, str] = {}
    read = {"status": why}
    utility = _verdict(sample, mapping.utility, "utility", unnamed, read)
    success = _verdict(sample, mapping.attack_success, "attack_success", unnamed, read) if attacked else None
    if status in ("infra_error", "cancelled"):
        read["utility"] = BROKE_OFF
        if attacked and not success:
            read["attack_success"] = BROKE_OFF
        return Outcome(status, None, success or None, error, {}, read)
    return Outcome(status, utility, success, error, unnamed, read)


def _end_of(sample: Any, conversation: Conversation) -> tuple[Status, str | None, str]:
    if sample.error is not None:
        status = error_status(sample.error.message)
        return status, short(sample.error.message), "error" if status == "infra_error" else "error of a cancelled task"
    if sample.invalidation is not None:
        why = f"{sample.invalidation.author}: {sample.invalidation.reason or 'no reason given'}"
        return "cancelled", short(f"invalidated by {why}"), "invalidation"
    if sample.limit is not None:
        text = short(f"{sample.limit.type} limit of {sample.limit.limit:g}")
        return ("cancelled" if sample.limit.type == "operator" else "agent_limit"), text, f"limit {json_text(sample.limit.type)}"
    why = "(no answered model call)" if conversation.stop is None else f"stop_reason {json_text(conversation.stop)}"
    return _STOPS.get(conversation.stop or "", "completed"), None, why


def error_status(message: str) -> Status:
    """`cancelled` where the text is that of a cancelled task, else the infrastructure's failure."""
    return "cancelled" if message.startswith(_CANCELLED) else "infra_error"


def _verdict(sample: Any, verdict: Verdict | None, column: str, unnamed: dict[str, str], read: dict[str, str]) -> bool | None:
    score = score_of(sample, verdict)
    if verdict is None or score is None:
        read[column] = "(no score)"
        return None
    found, value = value_in(score.value, verdict)
    read[column] = json_text(value if found else score.value)
    told = verdict.of(value) if found else None
    if told is None:
        unnamed[column] = repr(value if found else score.value)[:60]
    return told


def score_of(sample: Any, verdict: Verdict | None) -> Any:
    """The first score there is of the scorers that a verdict names; null where none scored the sample."""
    scores = sample.scores or {}
    return next((scores[name] for name in (verdict.scorers if verdict else ()) if scores.get(name) is not None), None)


def value_in(value: Any, verdict: Verdict) -> tuple[bool, Any]:
    """Whether a score's value holds what the verdict is read from, and that."""
    if verdict.key is None:
        return not isinstance(value, Mapping | list), value
    return (True, value[verdict.key]) if isinstance(value, Mapping) and verdict.key in value else (False, None)


def edits_of(sample: Any, mapping: InspectMapping) -> list[str]:
    """Who changed which verdict of a sample, from what to what, for people."""
    told = []
    verdicts = {"utility": mapping.utility, "attack_success": mapping.attack_success}
    for column, verdict in verdicts.items():
        score = score_of(sample, verdict)
        if verdict is None or score is None or not score.history:
            continue
        values = [edit.value for edit in score.history if edit.value != "UNCHANGED"]
        found, last = value_in(score.value, verdict)
        first_found, first = value_in(values[0], verdict) if values else (found, last)
        if (first_found, first) != (found, last):
            authors = dict.fromkeys(edit.provenance.author for edit in score.history if edit.provenance is not None)
            told.append(f"{column} {first!r} to {last!r} by {', '.join(authors) or 'unknown'}")
    return told


def json_text(value: Any) -> str:
    """A value as people read it in a log: JSON, bounded, of whole characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)[:MAX_READ_CHARACTERS]
    return text.encode("utf-8", "replace").decode("utf-8")


def short(text: str) -> str:
    """An error text as a ledger holds it: UTF-8, without NUL, bounded."""
    kept = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "�")
    return kept if len(kept) <= MAX_ERROR_CHARACTERS else kept[: MAX_ERROR_CHARACTERS - 1] + "…"

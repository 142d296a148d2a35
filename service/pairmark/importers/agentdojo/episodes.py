"""One row of the ledger from one record, or from a file that could not be read."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from pairmark.domain.canonical import digest_of
from pairmark.importers.agentdojo.delivery import delivery_of
from pairmark.importers.agentdojo.messages import transcript_digest
from pairmark.importers.agentdojo.outcome import outcome_of
from pairmark.importers.agentdojo.record import Record

_MAX_MILLISECONDS = 2**53 - 1
_USUAL_CHARACTERS = 4096
"""Digests of prompts up to here are remembered: a task's prompt stands in the file of each of its injections."""


def task_digest(prompt: str) -> str:
    """Digest of a user task as exported manifests have it: it covers what the agent is asked, and nothing else."""
    return digest_of({"prompt": prompt})


def injection_digest(goal: str) -> str:
    """Digest of an injection task: it covers the attacker's goal before an attack words it."""
    return digest_of({"goal": goal})


@lru_cache(maxsize=4096)
def _known_task_digest(prompt: str) -> str | None:
    return _task_digest(prompt)


def _task_digest(prompt: str) -> str | None:
    return task_digest(prompt) if _is_utf8(prompt) else None


def recorded_task_digest(record: Record) -> str | None:
    """The task's digest as far as the record can show it: the first user message is the prompt, verbatim."""
    prompt = record.user_prompt
    if prompt is None:
        return None
    return _known_task_digest(prompt) if len(prompt) <= _USUAL_CHARACTERS else _task_digest(prompt)


COLUMNS = (
    "status", "utility", "attack_success", "delivered", "attacker_actions", "duration_ms", "error", "task_digest", "transcript_digest",
)  # fmt: skip
"""What a record says, beside which cell it is of. The files do not hold the model that served, nor earlier attempts."""


def row_of(record: Record, *, attacked: bool) -> tuple[Any, ...]:
    """The columns of the episode. `delivered` and `attacker_actions` are facts of attacked cells only.

    An aborted record stops early: what it does not show may still have happened, so a delivery that is not shown is
    unknown there, not false.
    """
    status, utility, attack_success, error = outcome_of(record, attacked=attacked)
    delivered, actions = delivery_of(record.messages, record.injections if attacked else None)
    if not delivered and status in ("infra_error", "cancelled"):
        delivered = None
    return (
        status,
        utility,
        attack_success,
        delivered,
        actions,
        _milliseconds(record.duration),
        error,
        recorded_task_digest(record),
        transcript_digest(record.messages, plain=record.plain),
    )


def aborted_row(reason: str) -> tuple[Any, ...]:
    """The episode of a file that could not be read: it took place, and nothing is known of it."""
    said = {"status": "cancelled", "error": f"unreadable record: {reason}"}
    return tuple([said.get(name) for name in COLUMNS])


def _milliseconds(seconds: float | None) -> int | None:
    """Rounded; null where unknown, negative or beyond what a ledger holds."""
    if seconds is None or not math.isfinite(seconds) or not 0 <= seconds * 1000 <= _MAX_MILLISECONDS:
        return None
    return round(seconds * 1000)


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True

"""One row of the ledger from one item."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pairmark.domain.canonical import DIGEST_PREFIX, digest_of
from pairmark.importers.failures import is_infrastructure
from pairmark.importers.tau_bench.items import Item

MAX_ERROR_CHARACTERS = 2000
_LIMIT = re.compile(
    r"context[ _](?:length|window)|maximum context|reduce the length of the messages|prompt is too long|ContextWindowExceeded", re.IGNORECASE
)
_BLOCKED = re.compile(r"content[ _-]?(?:filter|management[ _-]policy|policy)|ContentPolicyViolation|responsibleaipolicy", re.IGNORECASE)


def task_digest(instruction: str) -> str | None:
    """Digest of a task: what the simulated user is told to want, and nothing else; null for half a character."""
    if any("\ud800" <= c <= "\udfff" for c in instruction):
        return None
    return digest_of({"instruction": instruction})


def json_digest(value: Any) -> str:
    """SHA-256 over JSON with sorted keys, without white space: a file of any harness may hold what RFC 8785 does not take."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return DIGEST_PREFIX + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def transcript_digest(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Digest of what was said and called, in order, without the providers' random call ids; null for none."""
    if not messages:
        return None
    return json_digest(
        [
            [
                message["role"],
                message.get("content"),
                message.get("name"),
                [[call["function"]["name"], call["function"].get("arguments")] for call in message.get("tool_calls") or ()],
            ]
            for message in messages
        ]
    )


def row_of(item: Item) -> dict[str, Any]:
    """The outcome columns. A reward beside an exception was never worked out: it is a default, and no outcome.

    An overflow of the context is the agent's own failure, whatever the reward says. A provider's refusal is an outcome too; a
    reward of 1 beside it contradicts it, and leaves utility unknown.
    """
    if item.problem is not None:
        return {"status": "cancelled", "error": f"unreadable record: {item.problem}"}
    shown = {
        "task_digest": None if item.instruction is None else task_digest(item.instruction),
        "transcript_digest": transcript_digest(item.messages),
    }
    if item.error is None:
        return {"status": "completed" if item.graded else "agent_limit", "utility": item.success, "error": None, **shown}
    error = _short(item.error)
    if is_infrastructure(item.error):
        return {"status": "infra_error", "error": error, **shown}
    if _BLOCKED.search(item.error):
        return {"status": "provider_block", "utility": None if item.success else False, "error": error, **shown}
    if _LIMIT.search(item.error):
        return {"status": "agent_limit", "utility": False, "error": error, **shown}
    return {"status": "infra_error", "error": error, **shown}


def _short(text: str) -> str:
    kept = text.encode("utf-8", "replace").decode("utf-8")
    return kept if len(kept) <= MAX_ERROR_CHARACTERS else kept[: MAX_ERROR_CHARACTERS - 1] + "…"

"""What happened in an episode, from what the harness wrote. Errors that it wrote as outcomes are taken back.

In `agentdojo.benchmark` 0.1.35 a caught provider error is logged in `error` and the verdicts are then set to utility false,
security true, whatever happened before: next to an error, `security: true` is no evidence that an attack succeeded. Two
texts are the harness' own: `due to context_length_exceeded` (the agent's limit: an outcome) and `because of internal
server error` (the provider's failure: no outcome). A run that is killed leaves no `utility`. Other texts come from forks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pairmark.importers.agentdojo.record import Record
from pairmark.importers.failures import is_infrastructure

if TYPE_CHECKING:
    from pairmark.domain.documents.episode import Status

MAX_ERROR_CHARACTERS = 2000
NO_OUTCOME = "no outcome recorded: the episode was stopped before its check"

_BLOCKED = re.compile(
    r"content[ _-]?filter|content[ _-]?management[ _-]policy|content[ _-]?policy|responsibleaipolicy|prohibited[ _]content"
    r"|blocked by (?:the )?(?:provider|safety)|safety (?:filter|system|setting)|finish_?reason\W{1,4}(?:safety|recitation)",
    re.IGNORECASE,
)
_OWN_CONTEXT_LIMIT = re.compile(r"^Skipping task .{0,300}? due to context_length_exceeded:", re.DOTALL)
_OWN_SERVER_ERROR = re.compile(r"^Skipping task .{0,300}? because of internal server error:", re.DOTALL)
_STATUS_CODE = re.compile(
    r"(?:^|error code|status code|status|http(?:/[0-9.]+)?)[\s:=\"']{0,4}(?P<code>[1-5][0-9]{2})\b", re.IGNORECASE
)
_LIMIT = re.compile(
    r"context_length|context[ _](?:length|window)|maximum context|reduce the length of the messages|prompt is too long"
    r"|max_new_tokens|token limit|(?:step|iteration|turn|recursion)s? limit|max(?:imum)?[ _](?:number of )?(?:steps|iterations|iters|turns)",
    re.IGNORECASE,
)


class Outcome(NamedTuple):
    """The outcome columns of an episode."""

    status: Status
    utility: bool | None
    attack_success: bool | None
    error: str | None


def error_status(text: str) -> Status:
    """What kind of end an error text tells of. A text that names none is taken as a failure of the infrastructure: it
    then counts as no outcome, instead of as one for or against the agent.
    """
    if _OWN_CONTEXT_LIMIT.search(text):
        return "agent_limit"
    if _OWN_SERVER_ERROR.search(text) or is_infrastructure(text):
        return "infra_error"
    if _BLOCKED.search(text):
        return "provider_block"
    code = _STATUS_CODE.search(text)
    if code is not None and code["code"] in ("401", "403", "408", "409", "425"):
        return "infra_error"
    return "agent_limit" if _LIMIT.search(text) else "infra_error"


def outcome_of(record: Record, *, attacked: bool) -> Outcome:
    """Status, verdicts and error text of a record.

    A missing `utility` is `cancelled` (`infra_error` if the error says so): aborted, never a failure. `attack_success` is
    known only from a record without error; on a benign record `security` is a default and never read.
    """
    if record.error is not None:
        status = error_status(record.error)
        text = _short(record.error)
        if status == "infra_error":
            return Outcome(status, None, None, text)
        if record.utility is None:
            return Outcome("cancelled", None, None, text)
        return Outcome(status, record.utility, None, text)
    if record.utility is None:
        return Outcome("cancelled", None, None, NO_OUTCOME)
    return Outcome(
        "agent_limit" if _stopped_with_calls_pending(record) else "completed",
        record.utility,
        record.security if attacked else None,
        None,
    )


def _stopped_with_calls_pending(record: Record) -> bool:
    """The last turn asks for tools that never ran: the harness' loop ends so only at its own limit of iterations."""
    return bool(record.messages) and record.messages[-1].role == "assistant" and bool(record.messages[-1].calls)


def _short(text: str) -> str:
    kept = text.encode("utf-8", "replace").decode("utf-8")
    return kept if len(kept) <= MAX_ERROR_CHARACTERS else kept[: MAX_ERROR_CHARACTERS - 1] + "…"

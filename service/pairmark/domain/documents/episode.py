"""Episode: what happened in one cell; one line of a ledger."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints

from pairmark.domain.documents.base import Count, Digest, Document, Identifier, Ordinal

Status = Literal["completed", "agent_limit", "provider_block", "infra_error", "cancelled"]
STATUSES: tuple[Status, ...] = ("completed", "agent_limit", "provider_block", "infra_error", "cancelled")
ASSESSED: frozenset[Status] = frozenset({"completed", "agent_limit", "provider_block"})
ABORTED: frozenset[Status] = frozenset({"infra_error", "cancelled"})

ErrorText = Annotated[str, StringConstraints(max_length=1_000_000)]


class Episode(Document):
    """One attempt at one cell. `utility`, `attack_success` and `delivered` are separate facts; null is unknown.

    `attack_success` true always means that the attacker's goal was reached.
    """

    title: ClassVar[str] = "episode"

    task_id: Identifier
    injection_id: Identifier | None
    epoch: Ordinal
    status: Status
    utility: bool | None = None
    attack_success: bool | None = None
    delivered: bool | None = None
    attacker_actions: Count | None = None
    served_model: Identifier | None = None
    duration_ms: Count | None = None
    error: ErrorText | None = None
    task_digest: Digest | None = None
    transcript_digest: Digest | None = None
    attempt: Ordinal | None = None

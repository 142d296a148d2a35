"""What a verifier saw last of each log: so that nobody can later show it another past."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field, ValidationError

from pairmark.domain.canonical import canonical_bytes
from pairmark.domain.documents.base import Count, Digest, Identifier, Ordinal, Strict, malformed_from
from pairmark.domain.strict_json import parse


class Seen(Strict):
    """The largest tree seen of a log (its root in hex), and the newest version of its trust root."""

    size: Count
    root: Digest
    trust_root: Digest
    trust_version: Ordinal
    trust_digest: Digest


class _Memory(Strict):
    schema_: Literal["pairmark/verifier-state/v1"] = Field(alias="schema")
    logs: dict[Identifier, Seen]


@dataclass(frozen=True)
class Memory:
    """What was seen, by the log's origin."""

    logs: Mapping[str, Seen] = field(default_factory=dict)

    def with_seen(self, origin: str, seen: Seen) -> Memory:
        """With one log brought up to date."""
        return Memory({**self.logs, origin: seen})

    def content(self) -> bytes:
        """The state file: RFC 8785 bytes and a newline."""
        logs = {origin: seen.model_dump() for origin, seen in self.logs.items()}
        return canonical_bytes({"schema": "pairmark/verifier-state/v1", "logs": logs}) + b"\n"


def parse_memory(data: bytes, *, file: str | None = None) -> Memory:
    """Read a state file.

    Raises:
        Malformed: another shape.
    """
    parse(data, file=file)
    try:
        return Memory(_Memory.model_validate_json(data).logs)
    except ValidationError as problem:
        raise malformed_from(problem, data, file) from None

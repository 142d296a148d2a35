"""The plain strict reader of ledger lines: exact about file, line and pointer. The vectorised reader falls back to it."""

from __future__ import annotations

import unicodedata
from typing import Any

from pydantic import ValidationError

from pairmark.adapters.ledgers.limits import Limits, too_large
from pairmark.domain import strict_json
from pairmark.domain.documents.base import malformed_from
from pairmark.domain.documents.episode import Episode
from pairmark.domain.errors import Malformed


def read_line(data: bytes, *, file: str | None, line: int, limits: Limits) -> dict[str, Any]:
    """The episode in one line (without its newline), with all fourteen keys; an absent or null `attempt` is 1.

    Raises:
        Malformed: with file, line and, where it can be told, pointer.
    """
    if len(data) > limits.line:
        raise too_large("line", limits.line, file=file, line=line)
    if not data.strip(b" \t\r"):
        raise Malformed("blank-line", "expected one JSON object, found a blank line", file, line, remedy="remove the line")
    try:
        value = strict_json.parse(data)
        if not isinstance(value, dict):
            raise Malformed("not-an-object", "expected one JSON object", pointer="", remedy="write one episode per line")
        try:
            episode = Episode.model_validate(value)
        except ValidationError as problem:
            raise malformed_from(problem, data, None) from None
    except Malformed as problem:
        raise Malformed(problem.code, problem.message, file, line, problem.pointer, problem.remedy) from None
    row = episode.model_dump()
    if row["attempt"] is None:
        row["attempt"] = 1
    return row


class IdCollisions:
    """Refuses ids of one kind that differ as written but become equal under Unicode normalisation (NFC)."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._seen: dict[str, str] = {}

    def add(self, identifier: str, *, file: str | None, line: int | None) -> None:
        """Note an id; raises Malformed when an earlier one collides with it."""
        earlier = self._seen.setdefault(unicodedata.normalize("NFC", identifier), identifier)
        if earlier != identifier:
            raise Malformed(
                "id-collision",
                f"expected ids that stay distinct under Unicode normalisation, found {ascii(identifier)} after {ascii(earlier)}",
                file, line, f"/{self.kind}", "use one spelling of the id",
            )

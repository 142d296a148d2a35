"""The projection of a ledger's data quality that is kept: stable, ours, without the validating library's own result format."""

from __future__ import annotations

from pydantic import Field

from pairmark.domain.documents.base import Count, Digest, Identifier, JsonValue, Strict, Text


class ExpectationResult(Strict):
    """One expectation: what was expected, whether it held, how many of how many rows did not, and the first examples.

    `code` is our own stable word, e.g. `status-known`. `arguments` are as declared in the expectation suite file.
    """

    code: Identifier
    expectation: Identifier
    arguments: dict[str, JsonValue]
    success: bool
    rows: Count
    unexpected: Count
    first: tuple[Text, ...] = Field(default=(), max_length=20)


class QualityResult(Strict):
    """All expectations over one ledger. `suite` names the expectation suite (`name/version`) and `digest` its file's digest."""

    suite: Identifier
    digest: Digest
    rows: Count
    success: bool
    expectations: tuple[ExpectationResult, ...]

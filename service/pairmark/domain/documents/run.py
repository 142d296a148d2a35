"""Run (`pairmark/run/v1`): one arm executed under one system configuration."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from pairmark.domain.documents.base import (
    DISTINCT,
    Count,
    Digest,
    Document,
    Identifier,
    Ordinal,
    SafeInteger,
    Strict,
    Time,
)

ArmName = Literal["benign", "attacked"]
Change = Literal["system_prompt", "tools", "scaffold"]
REQUIRED_DECODING_KEYS = ("temperature", "top_p", "max_tokens")


class SuiteReference(Strict):
    name: Identifier
    digest: Digest


class Attack(Strict):
    """How injections are worded and placed; a null digest is unrecorded, and equal to another null under the same name."""

    name: Identifier
    digest: Digest | None


class Model(Strict):
    """The model asked for, and the snapshots that answered (null: unrecorded)."""

    requested: Identifier | None
    served: tuple[Identifier, ...] | None
    provider: Identifier | None


class Decoding(Strict):
    """Decoding parameters. Null means not sent; a missing key means not recorded, and never equals anything."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, allow_inf_nan=False)
    __pydantic_extra__: dict[str, JsonValue]

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: SafeInteger | None = None

    def recorded(self) -> dict[str, JsonValue]:
        """Only the keys that were written, with their values."""
        return {
            key: getattr(self, key) for key in self.model_fields_set if key not in self.__pydantic_extra__
        } | self.__pydantic_extra__


class Scaffold(Strict):
    name: Identifier | None
    version: Identifier | None


class Defense(Strict):
    """A defense and which parts of the system it changes; the baseline differs there and nowhere else."""

    name: Identifier
    version: Identifier | None
    changes: tuple[Change, ...] = ()


class System(Strict):
    """Model as served, decoding, tools, system prompt, scaffold, defenses, limits. Null: unrecorded."""

    model: Model | None
    decoding: Decoding | None
    tools_digest: Digest | None
    system_prompt_digest: Digest | None
    scaffold: Scaffold | None
    defenses: tuple[Defense, ...] | None
    limits: dict[str, JsonValue] | None


class Harness(Strict):
    """The program that ran the episodes; a null image means that none was used."""

    name: Identifier | None
    version: Identifier | None
    commit: Identifier | None
    image: Identifier | None


class Epoch(Strict):
    """One repetition; a null seed means that none was sent."""

    epoch: Ordinal
    seed: SafeInteger | None


class Retries(Strict):
    max_attempts: Ordinal | None


class LedgerReference(Strict):
    """Declared row count and digest of the canonical ledger."""

    count: Count
    digest: Digest


class Run(Document):
    """A run document. Announced before it starts, `finished_at`, `episodes` and `model.served` are null."""

    title: ClassVar[str] = "run"

    schema_: Literal["pairmark/run/v1"] = Field(alias="schema")
    arm: ArmName
    suite: SuiteReference
    attack: Attack | None
    system: System
    harness: Harness
    epochs: Annotated[tuple[Epoch, ...], Field(max_length=100_000), DISTINCT]
    retries: Retries
    started_at: Time | None
    finished_at: Time | None
    episodes: LedgerReference | None

    @model_validator(mode="after")
    def _epochs_once(self) -> Self:
        numbers = [epoch.epoch for epoch in self.epochs]
        if len(set(numbers)) != len(numbers):
            raise ValueError("expected each epoch number once in `epochs`, found one again")
        return self

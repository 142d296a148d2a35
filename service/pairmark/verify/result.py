"""What a verification says: nine named steps, what they amount to, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pairmark.provenance.status import Standing
from pairmark.verify.memory import Memory

StepName = Literal["shape", "signature", "inclusion", "statement", "artifacts", "numbers", "policy", "status", "history"]
STEPS: tuple[StepName, ...] = (
    "shape", "signature", "inclusion", "statement", "artifacts", "numbers", "policy", "status", "history",
)  # fmt: skip
Outcome = Literal["PASS", "FAIL", "NOT_CHECKED"]

VALID, INVALID, REVOKED, SUPERSEDED, UNKNOWN = 0, 1, 4, 5, 6


@dataclass(frozen=True)
class Step:
    """One step's outcome; `message` says what was checked, or what was expected and found."""

    name: StepName
    outcome: Outcome
    message: str


@dataclass(frozen=True)
class Verification:
    """All nine steps in order. `memory` is what to remember for the next time, none after a failure."""

    steps: tuple[Step, ...]
    serial: str | None = None
    standing: Standing | None = None
    memory: Memory | None = None
    shown: tuple[dict[str, Any], ...] = field(default=())

    def outcome(self, name: StepName) -> Outcome:
        """The outcome of a step."""
        return self.steps[STEPS.index(name)].outcome

    @property
    def failed(self) -> tuple[StepName, ...]:
        """The steps that failed."""
        return tuple(step.name for step in self.steps if step.outcome == "FAIL")

    @property
    def unchecked(self) -> tuple[StepName, ...]:
        """The steps that could not be checked."""
        return tuple(step.name for step in self.steps if step.outcome == "NOT_CHECKED")

    @property
    def exit_code(self) -> int:
        """1 any step failed; 4 revoked; 5 superseded; 6 signature, inclusion or status not checked; else 0."""
        if self.failed:
            return INVALID
        if "signature" not in self.unchecked and self.standing is not None and self.standing.status != "valid":
            return REVOKED if self.standing.status == "revoked" else SUPERSEDED
        return UNKNOWN if {"signature", "inclusion", "status"} & set(self.unchecked) else VALID

    @property
    def summary(self) -> str:
        """One sentence, never more than the steps carry."""
        code = self.exit_code
        if code == INVALID:
            return f"INVALID: {_listed(self.failed)} failed"
        if code in (REVOKED, SUPERSEDED):
            assert self.standing is not None
            place = f", in its place {self.standing.by}" if self.standing.by is not None else ""
            return f"{self.standing.status.upper()} at log index {self.standing.index}: {self.standing.reason}{place}"
        left = f"; not checked: {_listed(self.unchecked)}" if self.unchecked else ""
        if code == UNKNOWN:
            return f"UNKNOWN{left}"
        return f"VALID{left}" if left else "VALID in all nine steps"

    def value(self) -> dict[str, Any]:
        """As a JSON value."""
        standing = self.standing
        return {
            "schema": "pairmark/verification/v1",
            "certificate": self.serial,
            "summary": self.summary,
            "exit_code": self.exit_code,
            "steps": [{"step": step.name, "outcome": step.outcome, "message": step.message} for step in self.steps],
            "status": None
            if standing is None
            else {"status": standing.status, "index": standing.index, "reason": standing.reason, "by": standing.by},
            "rows": list(self.shown),
        }


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)

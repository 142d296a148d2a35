"""What a rule is. A rule is one file of this package with a module-level `RULE`; adding one touches nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from pairmark.domain.documents.base import Strict
from pairmark.domain.documents.report import EvidenceValue, Finding, Outcome
from pairmark.domain.evidence import Arm, Experiment
from pairmark.domain.quality import QualityResult
from pairmark.domain.world import World

FIRST_CELLS = 20
"""How many offending cells a finding lists."""


class NoParams(Strict):
    """Parameters of a rule that has none."""


class QualityGate(Protocol):
    """Table-shaped quality of one ledger. An adapter implements it; a crash in it is a crash of the rule."""

    def __call__(self, arm: Arm) -> QualityResult: ...


@dataclass(frozen=True)
class Disproof:
    """A reviewer's recorded evidence against a held `sign-plausible`."""

    text: str
    digests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Context:
    """What a rule may look at. `findings` holds the other rules' findings, only for a rule that runs `last`."""

    experiment: Experiment
    quality: QualityGate
    findings: Mapping[str, Finding] = field(default_factory=dict)
    disproof: Disproof | None = None


@dataclass(frozen=True)
class Judgement:
    """A rule's answer. `message` says what was expected, what was found, where; on failure also what to do."""

    outcome: Outcome
    message: str
    evidence: Mapping[str, EvidenceValue] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """A rule with its meaning. A rule's meaning never changes: new meaning, new version.

    Attributes:
        id, version: as a policy names it.
        title: one line, said positively: what holds when it passes.
        why: what goes wrong in the field without it.
        source: where the requirement comes from.
        remedy: what a person does when it fails.
        params: strict model of its parameters.
        judge: the rule; pure.
        passing, failing: examples, each a change to a certifiable synthetic world; a contract test runs them.
        last: runs after all rules that are not `last`, and sees their findings.
    """

    id: str
    version: int
    title: str
    why: str
    source: str
    remedy: str
    judge: Callable[[Context, Any], Judgement]
    passing: Callable[[World], World]
    failing: Callable[[World], World]
    params: type[Strict] = NoParams
    last: bool = False


def exact(number: float | str) -> Fraction:
    """A policy's decimal parameter as the exact fraction its digits say (0.05 is 1/20)."""
    return Fraction(str(number))

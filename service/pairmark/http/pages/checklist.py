"""A report's findings as a checklist, in the words of `pairmark check`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from pairmark.rules.base import FIRST_CELLS, Rule
from pairmark.rules.registry import installed_rules

OUTCOMES: Final = {
    "passed": ("✓", "passed"),
    "failed": ("✗", "FAILED"),
    "held": ("‖", "HELD"),
    "not_applicable": ("–", "not applicable"),
    "crashed": ("⚠", "CRASHED"),
}
VERDICTS: Final = {
    "certified": ("✓", "the two arms are the same experiment and the injections arrived; the numbers are released"),
    "refused": ("✗", "a rule failed, so no numbers are certified"),
    "quarantined": ("‖", "held until a reviewer disproves what is suspicious, so no numbers are certified"),
}


QUESTIONS: Final = (
    ("the same tasks and injections, frozen and all there", ("suite-pinned", "arm-shape", "cells-complete", "content-matches", "epochs-match")),
    ("the same model answered", ("model-matches",)),
    ("the same decoding", ("decoding-matches",)),
    ("the same tools", ("tools-match",)),
    ("the same prompt, scaffold, limits, defenses and harness", ("scaffold-matches", "harness-matches")),
    ("every outcome known, aborted episodes excluded and counted", ("outcomes-known", "attempts-honest", "aborts-within-limits")),
    ("the attack works on the undefended baseline, and was applied here", ("baseline-undefended", "baseline-delivery", "attack-applied")),
    ("the sign of the drop is plausible", ("sign-plausible",)),
    ("the ledgers are sound tables", ("data-quality",)),
)
"""What a reader asks of a pair, and the rules that answer."""


LISTS: Final = {"rerun": "to run again", "open": "still open"}
"""Keys of the evidence that are no words for a reader."""


@dataclass(frozen=True)
class Question:
    """What a reader asks, and the findings that answer; none where the policy has no such rule."""

    asked: str
    lines: tuple[ChecklistLine, ...]


@dataclass(frozen=True)
class EvidenceList:
    """A list of the evidence: where it stands, its first values, and how many there are in all where the evidence says so."""

    name: str
    values: tuple[str, ...]
    total: int | None


@dataclass(frozen=True)
class ChecklistLine:
    """A rule's finding. Of one that did not pass, the message's parts, its lists, and what to do."""

    rule: str
    outcome: str
    sign: str
    word: str
    title: str | None
    why: str | None
    message: tuple[str, ...]
    lists: tuple[EvidenceList, ...]
    remedy: str | None

    @property
    def is_open(self) -> bool:
        """Whether there is something to do about it."""
        return self.outcome in ("failed", "held", "crashed")


def checklist(findings: Sequence[Mapping[str, Any]]) -> list[ChecklistLine]:
    """One line for each finding, in the policy's order."""
    return [_line(finding) for finding in findings]


def questions(findings: Sequence[Mapping[str, Any]]) -> list[Question]:
    """The findings by what a reader asks, in a reader's order; those of rules that answer no such question come last."""
    lines = checklist(findings)
    known = {rule for _, rules in QUESTIONS for rule in rules}
    asked = [Question(text, tuple(line for line in lines if line.rule in rules)) for text, rules in QUESTIONS]
    others = tuple(line for line in lines if line.rule not in known)
    return [*asked, *([Question("what else the policy wants", others)] if others else [])]


def _line(finding: Mapping[str, Any]) -> ChecklistLine:
    outcome, message, rule = finding["outcome"], finding["message"], _rules().get(finding["rule"])
    sign, word = OUTCOMES[outcome]
    opened = outcome in ("failed", "held", "crashed")
    remedy = rule.remedy if rule is not None and opened and outcome != "crashed" else None
    if remedy is not None:
        message = message.removesuffix(f"; {remedy}")
    return ChecklistLine(
        rule=finding["rule"], outcome=outcome, sign=sign, word=word, title=None if rule is None else rule.title,
        why=None if rule is None else rule.why, message=tuple(message.split("; ")) if opened else (message,),
        lists=tuple(_lists((), finding["evidence"])) if opened else (), remedy=remedy,
    )  # fmt: skip


@cache
def _rules() -> Mapping[str, Rule]:
    """Every rule by id, of several versions the newest."""
    return {name: rule for (name, _), rule in sorted(installed_rules().items())}


def _lists(path: tuple[str, ...], evidence: Any) -> Iterator[EvidenceList]:
    """Lists of plain values, with the count that stands beside them."""
    if not isinstance(evidence, Mapping):
        return
    for key, value in evidence.items():
        plain = isinstance(value, list | tuple) and not any(isinstance(item, Mapping | list | tuple) for item in value)
        if plain and value:
            total = next((evidence[name] for name in ("count", "out_of_place") if isinstance(evidence.get(name), int)), None)
            yield EvidenceList(_list_name((*path, key)), tuple(map(str, value[:FIRST_CELLS])), total)
        elif not isinstance(value, list | tuple):
            yield from _lists((*path, key), value)


def _list_name(path: Sequence[str]) -> str:
    """Where a list stands, in words; a last one that the others say already, such as the tasks of tasks without a cell, is left out."""
    said = [LISTS.get(key, key.replace("_", " ")) for key in path]
    return " ".join(said[:-1] if len(said) > 1 and said[-1] in " ".join(said[:-1]).split() else said)

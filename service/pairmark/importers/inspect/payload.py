"""The injected text of a sample: where the mapping says it stands, or as the attack's wording shows it in the environment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pairmark.importers.agentdojo.messages import Message
from pairmark.importers.agentdojo.reading import fold, forms
from pairmark.importers.inspect.limits import LIMITS, LogLimits
from pairmark.importers.inspect.mapping import InspectMapping, at_pointer


@dataclass(frozen=True)
class Payload:
    """The injected texts of a sample.

    Attributes:
        texts: null where the log does not show them, or shows more than is looked for.
        goals: the attacker's goals that they word, where known.
        is_beyond: whether they are more than is looked for.
        is_whole: whether the attack has no further wording, which cannot be told from other text.
    """

    texts: Mapping[str, str] | None
    goals: frozenset[str] = frozenset()
    is_beyond: bool = False
    is_whole: bool = True

    @property
    def characters(self) -> int:
        return sum(map(len, (self.texts or {}).values()))


@dataclass(frozen=True)
class Wording:
    """What stands before and behind the goal, white space folded; both empty where that cannot tell the goal from other text."""

    before: str
    behind: str

    @property
    def is_telling(self) -> bool:
        """Whether text shows where the goal begins and ends."""
        return bool(self.before and self.behind)

    def found_in(self, text: str) -> Iterator[tuple[str, str]]:
        """Each worded text with its goal, out of a folded text."""
        start = text.find(self.before)
        while start >= 0:
            goal_from = start + len(self.before)
            end = text.find(self.behind, goal_from)
            if end < 0:
                return
            yield text[start : end + len(self.behind)], text[goal_from:end].strip()
            start = text.find(self.before, end + len(self.behind))


def attack_template(header: Any, mapping: InspectMapping) -> Any:
    """The value of the solver's parameter that words the attack; null where the log has none."""
    template = mapping.payload.template
    if template is None:
        return None
    return next(
        (step.params.get(template.param) for step in header.plan.steps if step.solver == template.solver), None
    )


def wordings(header: Any, mapping: InspectMapping) -> tuple[Wording, ...]:
    """The wordings in a log's plan: of one text, or of one by place in the environment. Of those with no text on both sides of the
    goal, or that hold the goal twice, one stands for all: nothing would say where the goal ends, so that they are not looked for.
    """
    value = attack_template(header, mapping)
    template = mapping.payload.template
    texts = [value] if isinstance(value, str) else list(value.values()) if isinstance(value, Mapping) else []
    found = []
    for text in texts:
        before, goal, behind = text.partition(template.goal) if isinstance(text, str) and template is not None else ("", "", "")
        is_once = template is not None and bool(goal) and template.goal not in behind
        wording = Wording(fold(before), fold(behind)) if is_once else Wording("", "")
        found.append(wording if wording.is_telling else Wording("", ""))
    return tuple(dict.fromkeys(found))


def payload_of(
    sample: Any, mapping: InspectMapping, words: tuple[Wording, ...], shown: Iterable[Message] = (), limits: LogLimits = LIMITS
) -> Payload:
    """What was injected into a sample. Where the environment is not in the log, the texts that `shown` messages hold are taken.

    Texts beyond `limits` are no payload of which a part may be looked for: to find none of the part would not be to find none.
    """
    kept: dict[str, str] = {}
    goals: set[str] = set()
    characters = 0
    try:
        for text, goal in _injected(sample, mapping, words, shown, limits):
            if goal:
                goals.add(goal)
            if text.strip() and text not in kept:
                kept[text] = str(len(kept))
                characters += len(text)
                if len(kept) > limits.payloads or characters > limits.payload:
                    raise _Beyond
    except _Beyond:
        return Payload(None, is_beyond=True)
    texts = {number: text for text, number in kept.items()} or None
    return Payload(texts, frozenset(goals), is_whole=all(wording.is_telling for wording in words))


class _Beyond(Exception):
    """More than is looked for."""


def _injected(
    sample: Any, mapping: InspectMapping, words: tuple[Wording, ...], shown: Iterable[Message], limits: LogLimits
) -> Iterator[tuple[str, str | None]]:
    for pointer in mapping.payload.texts:
        yield from ((text, None) for text in _texts(at_pointer(sample, pointer)))
    if words and mapping.payload.template is not None:
        environment = at_pointer(sample, mapping.payload.template.environment)
        if environment is not None:
            yield from _worded(_texts(environment), words, limits)
        else:
            yield from _worded((form for message in shown for form in forms(message.text)), words, limits)


def _worded(texts: Iterable[str], words: tuple[Wording, ...], limits: LogLimits) -> Iterator[tuple[str, str]]:
    firsts = [(wording, wording.before.split(" ", 1)[0]) for wording in words if wording.is_telling]
    searched = 0
    for text in texts:
        searched += len(text) * len(words)
        if searched > limits.search:
            raise _Beyond
        folded = None
        for wording, first in firsts:
            if first in text:
                folded = fold(text) if folded is None else folded
                yield from wording.found_in(folded)


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value. Its nesting was bounded when it was parsed."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            stack.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            stack.extend(reversed(item))

"""The injected text of a sample: where the mapping says it stands, or as the attack's wording shows it in the environment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pairmark.importers.agentdojo.messages import Message
from pairmark.importers.agentdojo.reading import fold, forms
from pairmark.importers.inspect.mapping import InspectMapping, at_pointer

MAX_PAYLOADS = 256
MAX_PAYLOAD_CHARACTERS = 2**20


@dataclass(frozen=True)
class Payload:
    """`texts`: the injected texts, null where the log does not show them; `goals`: the attacker's goals that they word, where known."""

    texts: Mapping[str, str] | None
    goals: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Wording:
    """What stands before and behind the goal, white space folded."""

    before: str
    behind: str

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
    """The wordings in a log's plan: of one text, or of one by place in the environment. Those with no text on both sides of the goal
    are left out: nothing would say where the goal ends.
    """
    value = attack_template(header, mapping)
    template = mapping.payload.template
    texts = [value] if isinstance(value, str) else list(value.values()) if isinstance(value, Mapping) else []
    found = []
    for text in texts:
        before, goal, behind = text.partition(template.goal) if isinstance(text, str) and template is not None else ("", "", "")
        if goal and fold(before) and fold(behind):
            found.append(Wording(fold(before), fold(behind)))
    return tuple(dict.fromkeys(found))


def payload_of(sample: Any, mapping: InspectMapping, words: tuple[Wording, ...], shown: Iterable[Message] = ()) -> Payload:
    """What was injected into a sample. Where the environment is not in the log, the texts that `shown` messages hold are taken."""
    texts = [text for pointer in mapping.payload.texts for text in _texts(at_pointer(sample, pointer))]
    goals: frozenset[str] = frozenset()
    if words and mapping.payload.template is not None:
        environment = at_pointer(sample, mapping.payload.template.environment)
        found = list(_worded(_texts(environment), words))
        if environment is None:
            found = list(_worded((form for message in shown for form in forms(message.text)), words))
        texts += [text for text, _ in found]
        goals = frozenset(goal for _, goal in found if goal)
    kept = dict.fromkeys(text for text in texts if text.strip() and len(text) <= MAX_PAYLOAD_CHARACTERS)
    return Payload({str(index): text for index, text in enumerate(kept)} if 0 < len(kept) <= MAX_PAYLOADS else None, goals)


def _worded(texts: Iterable[str], words: tuple[Wording, ...]) -> Iterator[tuple[str, str]]:
    firsts = [(wording, wording.before.split(" ", 1)[0]) for wording in words]
    for text in texts:
        for wording, first in firsts:
            if first in text:
                yield from wording.found_in(fold(text))


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

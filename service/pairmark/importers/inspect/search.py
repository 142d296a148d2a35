"""Looking for what was injected into a sample in what its model was given. What is beyond the limits is unknown, never false."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pairmark.importers.agentdojo.delivery import Delivery, delivery_of
from pairmark.importers.agentdojo.messages import Message
from pairmark.importers.inspect.limits import LIMITS, LogLimits
from pairmark.importers.inspect.mapping import InspectMapping, at_pointer
from pairmark.importers.inspect.payload import Payload, Wording, payload_of
from pairmark.importers.inspect.turns import Conversation, as_shown

UNKNOWN = Delivery(None, None)
_FORMS = 128
"""To make the forms of a payload and to find its literals takes a character about as long as to look through this many for one text."""


@dataclass(frozen=True)
class Looked:
    """What a search found, and why that is so, for people."""

    delivery: Delivery
    why: str


BEYOND = "more injected text than is looked for"


class Search:
    """The searches of one sample: of its last attempt and of those before it, which together stay within the limits."""

    def __init__(self, sample: Any, mapping: InspectMapping, words: tuple[Wording, ...], limits: LogLimits = LIMITS) -> None:
        self._sample, self._mapping, self._words, self._limits = sample, mapping, words, limits
        self._left = limits.search
        self._known: Payload | None = None

    def look(self, conversation: Conversation) -> Looked:
        """Whether a payload stood in what the model was given. Without events that is unknown; so is what only a picture may show."""
        if not conversation.is_recorded:
            return Looked(UNKNOWN, "no events")
        messages = as_shown(conversation.messages, self._mapping.shown_in)
        tools = [message for message in messages if message.role == "tool"]
        payload = self._payload(tools)
        if payload.is_beyond or not self._affords(payload, messages):
            return Looked(UNKNOWN, BEYOND)
        if payload.texts is None:
            return Looked(UNKNOWN, "no injected text in the log")
        found = delivery_of(messages, payload.texts)
        if found.delivered is False and conversation.has_other_content:
            return Looked(Delivery(None, found.actions), "results that hold more than text")
        if found.delivered is False and not payload.is_whole:
            return Looked(Delivery(None, found.actions), "a wording of the attack that does not show where the goal ends")
        if found.delivered is None:
            return Looked(found, "injected text too short to be told from other text")
        return Looked(found, "in the input of an answered call" if found.delivered else "in the input of no answered call")

    def _payload(self, tools: list[Message]) -> Payload:
        """Of every attempt the same, where messages are not asked for it."""
        if self._known is not None:
            return self._known
        found = payload_of(self._sample, self._mapping, self._words, tools, self._limits)
        template = self._mapping.payload.template
        if template is None or at_pointer(self._sample, template.environment) is not None:
            self._known = found
        return found

    def _affords(self, payload: Payload, messages: list[Message]) -> bool:
        shown = sum(len(message.text) for message in messages)
        self._left -= len(payload.texts or ()) * shown + _FORMS * payload.characters
        return self._left >= 0

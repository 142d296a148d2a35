"""The agent's conversation as its model was given it: from the calls' actual input, not from the message list that is left at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pairmark.domain.errors import one_line
from pairmark.importers.agentdojo.messages import Call, Message

_MODEL_CHARACTERS = 200
_GRADING = frozenset({"scorers", "scorer"})


@dataclass
class Conversation:
    """What a sample's events show of the agent.

    Attributes:
        messages: what its model calls were given and answered, each message once; then calls of tools whose results no model saw.
        served: models that answered, in order of their first answer.
        stop: why the last answer ended; null without an answer.
        answers: number of answered calls; `cached`: those that came from Inspect's cache.
        sent: the answered calls themselves: what was asked of the model.
        is_recorded: whether the sample holds any events at all. Without them it is not known what the model was given.
        has_other_content: whether a tool result holds something else than text, in which nothing is looked for.
    """

    messages: list[Message] = field(default_factory=list)
    served: list[str] = field(default_factory=list)
    stop: str | None = None
    answers: int = 0
    cached: int = 0
    sent: list[Any] = field(default_factory=list)
    is_recorded: bool = False
    has_other_content: bool = False


def conversation_of(events: Sequence[Any], roles: Iterable[str] = ()) -> Conversation:
    """The conversation in `events`, which are in order. Calls by scorers and by models in other roles than `roles` are no part of it."""
    reader = _Reader(frozenset(roles))
    for event in events:
        reader.take(event)
    return reader.finish()


class _Reader:
    def __init__(self, roles: frozenset[str]) -> None:
        self._roles = roles
        self._grading: set[str] = set()
        self._seen: set[Any] = set()
        self._calls: dict[str, Call] = {}
        self._ran: dict[str, list[Any]] = {}
        self._found = Conversation()

    def take(self, event: Any) -> None:
        self._found.is_recorded = True
        kind = event.event
        if kind == "span_begin":
            if event.type in _GRADING or event.parent_id in self._grading:
                self._grading.add(event.id)
        elif event.span_id in self._grading or event.pending:
            return
        elif kind == "model" and (event.role is None or event.role in self._roles):
            self._model(event)
        elif kind == "tool":
            self._ran.setdefault(event.id, []).append(event)

    def _model(self, event: Any) -> None:
        """An answered call. What a call that failed was given is not known to have reached the model."""
        if event.error is not None or not event.output.choices:
            return
        found = self._found
        for message in event.input:
            self._say(message)
        answer = event.output.choices[0]
        self._say(answer.message, is_answer=True)
        found.stop = answer.stop_reason
        found.answers += 1
        found.cached += event.cache == "read"
        found.sent.append(event)
        model = one_line(event.output.model, _MODEL_CHARACTERS)
        if model and model not in found.served:
            found.served.append(model)

    def _say(self, message: Any, *, is_answer: bool = False) -> None:
        text, is_whole = text_of(message.content)
        role = message.role
        asked = tuple(message.tool_calls or ()) if role == "assistant" else ()
        answered = message.tool_call_id if role == "tool" else None
        # The same message comes again in every later input. A changed text under an old id is another message.
        key = (role, text, answered, message.id if role != "assistant" else tuple(call.id for call in asked))
        if key in self._seen and not is_answer:
            return
        self._seen.add(key)
        calls = tuple(Call(call.function, call.arguments) for call in asked)
        for call, asked_call in zip(calls, asked, strict=True):
            self._calls[asked_call.id] = call
        error = message.error if role == "tool" else None
        if role == "tool":
            self._found.has_other_content |= not is_whole
            if self._ran.get(answered or ""):
                self._ran[answered or ""].pop(0)
        self._found.messages.append(
            Message(role, text, calls, self._calls.get(answered) if answered else None, _error_text(error))
        )

    def finish(self) -> Conversation:
        for events in self._ran.values():
            for event in events:
                # its result reached no model: only that it ran is said here
                self._found.messages.append(
                    Message("tool", "", (), Call(event.function, event.arguments), _error_text(event.error))
                )
        return self._found


def _error_text(error: Any) -> str | None:
    return None if error is None else f"{error.type}: {error.message}"


def text_of(content: Any) -> tuple[str, bool]:
    """The text of a message's content, and whether that is all of it but reasoning."""
    if isinstance(content, str):
        return content, True
    texts = [block.text for block in content if block.type == "text"]
    return "\n".join(texts), all(block.type in ("text", "reasoning") for block in content)


def prompt_of(messages: Sequence[Any]) -> str:
    """The system prompt of a call: the system's messages before any other, joined by newlines; empty where there is none."""
    texts = []
    for message in messages:
        if message.role != "system":
            break
        texts.append(text_of(message.content)[0])
    return "\n".join(texts)


def as_shown(messages: Sequence[Message], roles: Sequence[str]) -> list[Message]:
    """The conversation for the search of payloads: messages of `roles` beside tools stand as results that no call asked for.

    They go behind what else was said before the first turn, so that the user's own words are still known as his.
    """
    as_results = frozenset(roles) - {"tool"}
    if not as_results:
        return list(messages)
    first = next((index for index, message in enumerate(messages) if message.role == "assistant"), len(messages))
    before = [message for message in messages[:first] if message.role not in as_results]
    return [*before, *_results(messages[:first], as_results, others=False), *_results(messages[first:], as_results, others=True)]


def _results(messages: Sequence[Message], roles: frozenset[str], *, others: bool) -> Iterator[Message]:
    for message in messages:
        if message.role in roles:
            yield Message("tool", message.text)
        elif others:
            yield message

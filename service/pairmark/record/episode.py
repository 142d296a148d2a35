"""One episode under way: facts are set on it, and leaving its `with` block records it."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pairmark.domain.documents.episode import ABORTED, STATUSES, Status
from pairmark.domain.errors import Malformed, shown
from pairmark.domain.strict_json import MAX_SAFE_INTEGER
from pairmark.record.cells import MAX_ID_CHARACTERS, Cell

if TYPE_CHECKING:
    from pairmark.record.recording import Recording

MAX_ERROR_CHARACTERS = 20_000
STOPPED = "the recording stopped before the episode ended"
_DIGEST = re.compile("sha256:[0-9a-f]{64}")


class AgentLimit(Exception):
    """Raise it in an episode to record `agent_limit`: the agent's own limit of steps, tokens or time. It ends there."""


class ProviderBlock(Exception):
    """Raise it in an episode to record `provider_block`: the provider's filter refused. It ends there."""


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_SAFE_INTEGER


def _is_id(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_ID_CHARACTERS and value.isprintable()


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


_FACTS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "status": (lambda value: value in STATUSES, f"one of {', '.join(STATUSES)}"),
    "utility": (_is_flag, "True or False"),
    "attack_success": (_is_flag, "True or False"),
    "delivered": (_is_flag, "True or False"),
    "attacker_actions": (_is_count, "a whole number from 0"),
    "served_model": (_is_id, f"text of 1 to {MAX_ID_CHARACTERS} printable characters"),
    "duration_ms": (_is_count, "a whole number from 0"),
    "error": (lambda value: isinstance(value, str), "text"),
    "task_digest": (_is_digest, "`sha256:` and 64 lower-case hex digits"),
    "transcript_digest": (_is_digest, "`sha256:` and 64 lower-case hex digits"),
}
_OF_ATTACKED = ("attack_success", "delivered", "attacker_actions")


class Episode:
    """One attempt at one cell. Facts not set, or set to None, are unknown; they are checked when they are set.

    Leaving the block records it, once. Without an exception the status is `completed`, or what `status` was set to. An exception
    is `infra_error` with its text, and goes no further unless the run was told to raise; `AgentLimit` and `ProviderBlock` end
    the episode as they say; whatever stops the program (`KeyboardInterrupt`, `SystemExit`, a cancelled task) is `cancelled` and goes
    on. An aborted episode keeps only what had been seen to happen: it has no utility, and a delivery or an attack success that is
    not true is unknown. The duration is measured where none is set.
    """

    status: Status | None
    utility: bool | None
    attack_success: bool | None
    delivered: bool | None
    attacker_actions: int | None
    served_model: str | None
    duration_ms: int | None
    error: str | None
    task_digest: str | None
    transcript_digest: str | None

    def __init__(
        self, recording: Recording, cell: Cell, goes_on: Callable[[Exception, Cell], bool], attempt: int | None = None
    ) -> None:
        vars(self).update(dict.fromkeys(_FACTS), cell=cell, attempt=attempt)
        vars(self).update(_recording=recording, _goes_on=goes_on, _ended=False, _entered=None)

    cell: Cell
    attempt: int | None
    """Number of the attempt, from 1; null until it is begun."""
    _recording: Recording
    _goes_on: Callable[[Exception, Cell], bool]
    _ended: bool
    _entered: float | None

    @property
    def task_id(self) -> str:
        return self.cell.task_id

    @property
    def injection_id(self) -> str | None:
        return self.cell.injection_id

    @property
    def epoch(self) -> int:
        return self.cell.epoch

    def __setattr__(self, name: str, value: object) -> None:
        """Set a fact.

        Raises:
            Malformed: there is no such fact, it cannot have that value, or the episode has ended.
        """
        if name not in _FACTS:
            raise _refused("unknown-fact", f"expected one of {', '.join(_FACTS)}, found {shown(name)}", "correct the name")
        if self._ended:
            raise _refused("ended", f"expected an episode under way, found `{name}` set after its end", "set it inside the block")
        fits, expected = _FACTS[name]
        if value is not None:
            if not fits(value):
                raise _refused("invalid-value", f"expected `{name}` to be {expected} or None, found {shown(value)}", "convert it")
            if name in _OF_ATTACKED and self.cell.injection_id is None:
                raise _refused(
                    "arm-shape", f"expected no `{name}` in a benign episode, found {shown(value)}", "leave it out: nothing was injected"
                )
        vars(self)[name] = value

    def __enter__(self) -> Self:
        """Begin the attempt.

        Raises:
            Conflict: the cell has an outcome, is under way elsewhere, or has no attempt left; or the run is sealed.
        """
        if self._entered is not None or self._ended:
            raise _refused("ended", f"expected each episode to be used once, found {self.cell} again", "ask the run for another")
        if self.attempt is None:
            vars(self)["attempt"] = self._recording.begin(self.cell)
        vars(self)["_entered"] = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Record it; true where the exception ends here."""
        if problem is None:
            self._record(self.status or "completed", self.error)
            return False
        if isinstance(problem, AgentLimit | ProviderBlock):
            self._record("agent_limit" if isinstance(problem, AgentLimit) else "provider_block", _text_of(problem))
            return True
        if not isinstance(problem, Exception):
            self._record("cancelled", _text_of(problem))
            return False
        self._record("infra_error", _text_of(problem))
        return self._goes_on(problem, self.cell)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return self.__exit__(kind, problem, trace)

    def drop(self) -> None:
        """End it as cancelled if nobody used it."""
        if not self._ended:
            self._record("cancelled", "the episode was handed out and not run")

    def _record(self, status: Status, error: str | None) -> None:
        vars(self)["_ended"] = True
        facts = {name: getattr(self, name) for name in _FACTS}
        if status in ABORTED:
            facts["utility"] = None
            for name in ("attack_success", "delivered"):
                facts[name] = facts[name] or None
        if facts["duration_ms"] is None and self._entered is not None:
            facts["duration_ms"] = math.floor((time.monotonic() - self._entered) * 1000)
        kept = {"status": status, "error": None if error is None else _short(error)}
        self._recording.end({**self.cell._asdict(), **facts, **kept, "attempt": self.attempt})


def stopped_row(cell: Cell, attempt: int) -> dict[str, Any]:
    """The episode of an attempt whose process ended without it."""
    return {**dict.fromkeys(_FACTS), **cell._asdict(), "status": "cancelled", "error": STOPPED, "attempt": attempt}


def _text_of(problem: BaseException) -> str:
    """Kind and text of an exception, whatever its own `str` does."""
    name = type(problem).__name__
    try:
        text = str(problem)
    except Exception:  # noqa: BLE001 -- an episode is recorded even if its exception cannot be printed
        return name
    return f"{name}: {text}" if text else name


def _short(text: str) -> str:
    kept = text.encode("utf-8", "replace").decode("utf-8")
    return kept if len(kept) <= MAX_ERROR_CHARACTERS else kept[: MAX_ERROR_CHARACTERS - 1] + "…"


def _refused(code: str, message: str, remedy: str) -> Malformed:
    return Malformed(code, message, remedy=remedy)

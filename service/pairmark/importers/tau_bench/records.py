"""What a result file of tau-bench holds of each fact."""

from __future__ import annotations

from collections.abc import Mapping

from pairmark.importers.base import FACTS, Fact, Recorded

_NEVER = "The file does not hold it: give it with --system."
_NO_INJECTIONS = "There are no injections."

RECORDS: Mapping[Fact, Recorded] = {
    **{fact: Recorded("never", _NEVER) for fact in FACTS},
    "aborts": Recorded("sometimes", "`info.error`: the exception that ended the episode, beside a reward of 0 that nobody worked out."),
    "utility": Recorded("always", "`reward`: 1 is success."),
    "attack_success": Recorded("never", _NO_INJECTIONS),
    "delivered": Recorded("never", _NO_INJECTIONS),
    "attacker_actions": Recorded("never", _NO_INJECTIONS),
    "error": Recorded("sometimes", "`info.error`."),
    "task_digest": Recorded("sometimes", "The instruction in `info.task`."),
    "transcript_digest": Recorded("sometimes", "`traj`; empty beside an error."),
    "attempts": Recorded("never", "An item does not say that it is another attempt."),
    "seeds": Recorded("never", "A trial has a number and no seed."),
    "system_prompt_digest": Recorded("sometimes", "The first message, if it is the system's."),
}

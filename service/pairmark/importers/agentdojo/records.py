"""What AgentDojo's log files record, and what they cannot show. Facts about `agentdojo` 0.1.35."""

from __future__ import annotations

from collections.abc import Mapping

from pairmark.importers.base import Fact, Recorded

_BESIDE = "the log files do not hold it: give it with --system"

RECORDS: Mapping[Fact, Recorded] = {
    "aborts": Recorded("sometimes", "`error`, and a missing `utility` of a run that was killed"),
    "utility": Recorded("always", "`utility`, where no error of the infrastructure stands beside it"),
    "attack_success": Recorded("always", "`security` of an attacked file: true means that the attacker succeeded"),
    "delivered": Recorded("sometimes", "`injections` found again in the tool results that the model was sent"),
    "attacker_actions": Recorded("sometimes", "tool calls that repeat an address, link or account of the injected text"),
    "served_model": Recorded("never", "the log files do not hold it: give system.model.served with --system"),
    "duration_ms": Recorded("sometimes", "`duration`"),
    "error": Recorded("sometimes", "`error`"),
    "task_digest": Recorded("sometimes", "the prompt as it was sent, where the manifest digests prompts"),
    "transcript_digest": Recorded("sometimes", "`messages`"),
    "attempts": Recorded("never", "a file is written over when its cell is run again"),
    "seeds": Recorded("sometimes", "the name of a `seed-N` folder around the files"),
    "requested_model": Recorded("never", _BESIDE),
    "provider": Recorded("never", _BESIDE),
    "decoding": Recorded("never", _BESIDE),
    "tools_digest": Recorded("never", _BESIDE),
    "system_prompt_digest": Recorded("sometimes", "the first message, if it is the system's"),
    "scaffold": Recorded("never", _BESIDE),
    "defenses": Recorded("never", _BESIDE),
    "limits": Recorded("never", _BESIDE),
    "harness_version": Recorded("sometimes", "`agentdojo_package_version`"),
    "times": Recorded("never", "`evaluation_timestamp` has no offset, so it is no time: give times with --system"),
}

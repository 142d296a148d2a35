"""What Inspect's logs record, and what they cannot show. Facts about `inspect_ai` 0.3.285."""

from __future__ import annotations

from collections.abc import Mapping

from pairmark.importers.base import Fact, Recorded

RECORDS: Mapping[Fact, Recorded] = {
    "aborts": Recorded("sometimes", "`error`, `invalidation` and an operator's `limit` of a sample; planned samples that are not there"),
    "utility": Recorded("sometimes", "the score that the mapping names, of samples without error"),
    "attack_success": Recorded("sometimes", "the score that the mapping names; for agentdojo `security`: C means that the attacker succeeded"),
    "delivered": Recorded("sometimes", "the injected text found again in the input of an answered model call"),
    "attacker_actions": Recorded("sometimes", "tool calls that repeat an address, link or account of the injected text"),
    "served_model": Recorded("sometimes", "`output.model` of the model events"),
    "duration_ms": Recorded("sometimes", "`total_time`"),
    "error": Recorded("sometimes", "the text of `error`, `invalidation` or `limit`"),
    "task_digest": Recorded("sometimes", "`input`, where the manifest digests prompts"),
    "transcript_digest": Recorded("sometimes", "input and output of the model events, each message once"),
    "attempts": Recorded("sometimes", "`error_retries`, and further logs of one evaluation (`inspect eval-retry`)"),
    "seeds": Recorded("sometimes", "`config.seed` of the model events, the same for every epoch"),
    "requested_model": Recorded("always", "`eval.model`"),
    "provider": Recorded("sometimes", "`eval.model`, before the first slash"),
    "decoding": Recorded("always", "`config` of the model events: what was set on the model, the task and the call together"),
    "tools_digest": Recorded("sometimes", "`tools` of the model events: names, descriptions, parameters"),
    "system_prompt_digest": Recorded("sometimes", "the system's messages at the start of the model events' input"),
    "scaffold": Recorded("always", "the plan's solvers and their parameters, but for those that the mapping calls set-up"),
    "defenses": Recorded("never", "a solver may be one or not: say which defenses there are with --system"),
    "limits": Recorded("sometimes", "`eval.config`, unless it was changed while the evaluation ran"),
    "harness_version": Recorded("sometimes", "`eval.packages` and the task's own version"),
    "times": Recorded("sometimes", "`stats`; a log that is not finished has no end"),
}

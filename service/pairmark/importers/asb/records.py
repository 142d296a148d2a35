"""What a result table of Agent Security Bench holds of each fact."""

from __future__ import annotations

from collections.abc import Mapping

from pairmark.importers.base import FACTS, Fact, Recorded

_NEVER = "No column holds it."

RECORDS: Mapping[Fact, Recorded] = {
    **{fact: Recorded("never", _NEVER) for fact in FACTS},
    "aborts": Recorded("never", "A row is written for finished episodes only; the log beside the table counts some failures."),
    "utility": Recorded("always", "`Original Task Successful`."),
    "attack_success": Recorded("always", "`Attack Successful`; in a clean table it is 0, and a table with a 1 is refused as benign."),
    "delivered": Recorded("never", "The injection is put into tool output by the harness, and no column says whether a tool was called."),
    "attempts": Recorded("never", "A repeated row does not say that it is another attempt."),
    "requested_model": Recorded("never", "Only the name of the file may say it, and names are not read."),
    "defenses": Recorded("never", "Only the name of the folder may say it, and names are not read."),
}

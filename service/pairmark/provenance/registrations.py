"""How many runs of one system were announced on one suite, and how many never finished: best of many becomes countable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from pairmark.domain.canonical import digest_of
from pairmark.domain.documents.base import Count, Digest, Strict
from pairmark.provenance.entries import AnnouncementEntry, Entry, SealedEntry


def system_key(run: Mapping[str, Any]) -> str:
    """Digest that says which runs are of one system: the model asked for, its provider and the names of the defenses.

    Coarse on purpose. Somebody who tries many times and shows the best must not be able to hide the other tries behind
    another step limit or prompt; a key that is too coarse only counts too many.
    """
    system = run["system"]
    model, defenses = system["model"] or {}, system["defenses"]
    return digest_of(
        {
            "requested": model.get("requested"),
            "provider": model.get("provider"),
            "defenses": None if defenses is None else sorted({defense["name"] for defense in defenses}),
        }
    )


class Registered(Strict):
    """Announced runs of one system on one suite and arm, among the first entries of the log.

    `unfinished` were not sealed by then; `afterTheFact` were announced with their results already there.
    """

    system: Digest
    announced: Count
    unfinished: Count
    after_the_fact: Count = Field(alias="afterTheFact")


def count_registered(entries: Iterable[Entry], suite: str, system: str, arm: str) -> Registered:
    """Count over log entries in order. `arm` is what the run declares: `benign`, or `attacked` (a baseline's too)."""
    announced: dict[str, bool] = {}
    sealed: set[str] = set()
    for entry in entries:
        if isinstance(entry, AnnouncementEntry):
            if (entry.body.suite, entry.body.system, entry.body.arm) == (suite, system, arm):
                announced.setdefault(entry.body.run, entry.body.after_the_fact)
        elif isinstance(entry, SealedEntry):
            sealed.add(entry.body.run)
    return registered(system, len(announced), len(announced.keys() - sealed), sum(announced.values()))


def registered(system: str, announced: int, unfinished: int, after_the_fact: int) -> Registered:
    """The counts as a value."""
    return Registered.model_validate(
        {"system": system, "announced": announced, "unfinished": unfinished, "afterTheFact": after_the_fact}
    )

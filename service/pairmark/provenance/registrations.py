"""How many runs of one system were announced on one suite, and how many never finished: best of many becomes countable.

A run can be announced before its model, provider or defenses are named, and named later. Naming can only fill in what was null. So the
count for a system takes in every announcement that left it open whether it would be one of that system: whatever is filled in
afterwards, or never, a run that was announced cannot be taken out of the count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, Self

from pydantic import Field, model_validator

from pairmark.domain.canonical import digest_of
from pairmark.domain.documents.base import Count, Digest, Identifier, Strict
from pairmark.provenance.entries import AnnouncementEntry, Entry, SealedEntry


class SystemNames(Strict):
    """What makes runs runs of one system: the model asked for, its provider, and the names of its defenses. Null: not said."""

    requested: Identifier | None
    provider: Identifier | None
    defenses: tuple[Identifier, ...] | None

    def key(self) -> str:
        """The digest that announcements in the log carry."""
        return digest_of(self.model_dump(mode="json"))

    def open_keys(self) -> tuple[str, ...]:
        """Keys under which a run of this system can have been announced: its own first, then those with less said."""
        choices = [(said, None) if said is not None else (None,) for said in (self.requested, self.provider, self.defenses)]
        return tuple(
            SystemNames(requested=requested, provider=provider, defenses=defenses).key()  # type: ignore[arg-type]  # as they came out
            for requested, provider, defenses in product(*choices)
        )


def names_of(run: Mapping[str, Any]) -> SystemNames:
    """What a run document says of its system.

    Coarse on purpose. Somebody who tries many times and shows the best must not be able to hide the other tries behind
    another step limit or prompt; a key that is too coarse only counts too many.
    """
    system = run["system"]
    model, defenses = system["model"] or {}, system["defenses"]
    return SystemNames(
        requested=model.get("requested"),
        provider=model.get("provider"),
        defenses=None if defenses is None else tuple(sorted({defense["name"] for defense in defenses})),
    )


def system_key(run: Mapping[str, Any]) -> str:
    """Digest of what a run document says of its system."""
    return names_of(run).key()


class Registered(Strict):
    """Announced runs of one system on one suite and arm, among the first entries of the log.

    `unfinished` were not sealed by then; `afterTheFact` were announced with their results already there. `of` says in words what
    `system` is the digest of; the counts then take in the announcements that left it open. A certificate without it was
    counted over announcements of exactly that system.
    """

    system: Digest
    announced: Count
    unfinished: Count
    after_the_fact: Count = Field(alias="afterTheFact")
    of: SystemNames | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.of is not None and self.of.key() != self.system:
            raise ValueError("expected `system` to be the digest of `of`")
        return self

    def keys(self) -> frozenset[str]:
        """The keys whose announcements are counted."""
        return frozenset((self.system,) if self.of is None else self.of.open_keys())


def count_registered(entries: Iterable[Entry], suite: str, counted: Registered, arm: str) -> Registered:
    """Count over log entries in order what `counted` claims to count. `arm` is what the run declares: `benign`, or `attacked` (a baseline's too)."""
    announced: dict[str, bool] = {}
    sealed: set[str] = set()
    keys = counted.keys()
    for entry in entries:
        if isinstance(entry, AnnouncementEntry):
            if (entry.body.suite, entry.body.arm) == (suite, arm) and entry.body.system in keys:
                announced.setdefault(entry.body.run, entry.body.after_the_fact)
        elif isinstance(entry, SealedEntry):
            sealed.add(entry.body.run)
    unfinished = len(announced.keys() - sealed)
    return counted.model_copy(update={"announced": len(announced), "unfinished": unfinished, "after_the_fact": sum(announced.values())})


def registered(names: SystemNames, announced: int, unfinished: int, after_the_fact: int) -> Registered:
    """The counts as a value."""
    return Registered.model_validate(
        {"system": names.key(), "announced": announced, "unfinished": unfinished, "afterTheFact": after_the_fact, "of": names}
    )

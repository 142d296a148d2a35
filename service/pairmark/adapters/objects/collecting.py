"""Objects that nothing refers to: found, and removed on request.

A ledger becomes an object before the row that names it, so an unnamed object may be one whose row is about to come. Only objects that were
put long enough ago are looked at, and putting one that is there makes it young again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pairmark.adapters.ledgers.objects import KeptObject, ObjectStore
from pairmark.domain.errors import Conflict, Malformed

LEAST_HOURS = 1
"""No upload takes as long between its object and its row; S3 objects are renewed at half of it."""

DEFAULT_HOURS = 24


@dataclass(frozen=True)
class Collection:
    """What a collection found: objects and bytes in all, those too young to judge, those to remove, and how many were removed."""

    objects: int
    size: int
    young: int
    unnamed: tuple[KeptObject, ...]
    removed: int


def collect(
    store: ObjectStore, named: Callable[[Iterable[str]], set[str]], *, now: float, older_than_hours: float = DEFAULT_HOURS, delete: bool = False
) -> Collection:
    """Find objects that nothing names and that were put more than `older_than_hours` ago; with `delete`, remove them.

    Args:
        store: what is looked through.
        named: which of the digests given are named by anything, asked after the store was listed.
        now: seconds since 1970.
        older_than_hours: at least `LEAST_HOURS`.
        delete: remove; otherwise only say what would be.

    Raises:
        Malformed: an age at which uploads may still be on their way.
        Conflict: nothing that is old enough is named, as if this were another service's database.
    """
    if older_than_hours < LEAST_HOURS:
        raise Malformed(
            "too-young", f"expected an age of at least {LEAST_HOURS} hour, found {older_than_hours:g} hours", remedy="uploads may still need what is younger"
        )
    before = now - older_than_hours * 3600
    old: dict[str, KeptObject] = {}
    objects = size = young = 0
    for each in store.kept():
        objects, size = objects + 1, size + each.size
        if each.changed < before:
            old[each.digest] = each
        else:
            young += 1
    needed = named(old.keys())
    for digest in needed:
        del old[digest]
    if delete and old and not needed:
        raise Conflict(
            "not-its-database", f"expected a database that names some of {len(old)} objects, found one that names none",
            "check that PAIRMARK_DATABASE_URL and PAIRMARK_STORE_URL belong together",
        )
    unnamed = tuple(sorted(old.values(), key=lambda each: each.digest))
    removed = sum(store.remove_if_older(each.digest, before) for each in unnamed) if delete else 0
    return Collection(objects, size, young, unnamed, removed)

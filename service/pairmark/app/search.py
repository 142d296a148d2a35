"""Find what a person has in hand: an id, a digest, a suite's name or label, the name of a model, defense or attack."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pairmark.app.paging import is_plain
from pairmark.app.ports import Tables
from pairmark.domain.errors import Conflict, NotFound

Kind = Literal["suite", "run", "certification", "certificate", "aggregate", "history"]

MOST_FOUND = 50
LONGEST = 1024
_digest = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


@dataclass(frozen=True)
class Found:
    """One thing that fits. `id` is what it is read by; `what` says how it fits; a history is of the suite `id` with one filter."""

    kind: Kind
    id: str
    what: str
    filter: tuple[str, str] | None = None


def search(tables: Tables, text: str) -> tuple[Found, ...]:
    """What `text` names, the surest first; nothing if it names nothing."""
    asked = text.strip()
    if not asked or len(asked) > LONGEST or not is_plain(asked):
        return ()
    match = _digest.fullmatch(asked.lower())
    if match is not None:
        return tables.search.of_digest(f"sha256:{match.group(1)}")
    return (*_of_id(tables, asked), *_of_name(tables, asked))[:MOST_FOUND]


def _of_id(tables: Tables, asked: str) -> tuple[Found, ...]:
    if tables.runs.of_id(asked) is not None:
        return (Found("run", asked, "a run's id"),)
    if tables.certifications.of_id(asked) is not None or tables.jobs.of_id(asked) is not None:
        return (Found("certification", asked, "a certification's id"),)
    if tables.certificates.of_id(asked) is not None:
        return (Found("certificate", asked, "a certificate's id"),)
    if tables.aggregates.of_id(asked) is not None:
        return (Found("aggregate", asked, "an aggregate's id"),)
    return ()


def _of_name(tables: Tables, asked: str) -> tuple[Found, ...]:
    from pairmark.app.read_suite import resolve_suite

    found: list[Found] = []
    try:
        label = resolve_suite(tables, asked)
        found.append(Found("suite", label.digest, f"the suite {label.name} {label.version}"))
    except (NotFound, Conflict):
        pass  # a part of a name, or a name with several versions: listed below
    known = {one.id for one in found}
    for label in tables.search.suites_named(asked, MOST_FOUND):
        if label.digest not in known:
            known.add(label.digest)
            found.append(Found("suite", label.digest, f"the suite {label.name} {label.version}"))
    for kind, suite, name in tables.search.filters_named(asked, MOST_FOUND):
        found.append(Found("history", suite, f"certificates of {kind} {asked} over {name}", (kind, asked)))
    return tuple(found)

"""Supply what an announced run left open."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pairmark.app.errors import ConflictAt, Place
from pairmark.app.moments import moment
from pairmark.app.ports import StoredRun, Tables
from pairmark.app.read_run import run_of_id
from pairmark.app.stored import stored_document
from pairmark.domain.canonical import canonical_bytes, digest_of
from pairmark.domain.errors import Conflict
from pairmark.domain.strict_json import JsonValue, escape_pointer, parse

FIRST_PLACES = 20
"""How many differing places a conflict lists."""


def amend_run(tables: Tables, run_id: str, value: dict[str, Any], now: datetime) -> StoredRun:
    """Replace a run's document by `value`, a valid run document that may differ only where the stored one was null.

    The same document again changes nothing.

    Raises:
        NotFound: no such run.
        Conflict: the run is sealed, or the document differs elsewhere.
    """
    run = run_of_id(tables, run_id)
    document = digest_of(value)
    if document == run.document:
        return run
    if run.seal is not None:
        raise Conflict(
            "run-sealed", f"expected the document that run {run_id} was sealed with ({run.document}), found {document}",
            "a sealed run never changes; announce another one",
        )
    places = differences(parse(stored_document(tables, run.document)), value)
    if places:
        raise ConflictAt(
            "differs-from-announced",
            f"expected the announced document with only its nulls filled in, found {len(places)} other differences, the first at {places[0].pointer}",
            "restore the announced values, or announce another run", tuple(places[:FIRST_PLACES]),
        )
    number = run.amendments + 1
    tables.documents.put(document, canonical_bytes(value))
    tables.runs.amend(run_id, number, document, moment(now))
    return StoredRun(
        id=run.id, arm=run.arm, suite=run.suite, announcement=run.announcement, document=document, amendments=number,
        after_the_fact=run.after_the_fact, created_at=run.created_at, seal=None,
    )


def differences(announced: JsonValue, full: JsonValue, pointer: str = "") -> list[Place]:
    """Places where `full` differs from `announced`, other than by filling in a null."""
    if announced is None:
        return []
    if isinstance(announced, dict) and isinstance(full, dict):
        found: list[Place] = []
        for key in sorted(announced.keys() | full.keys()):
            below = f"{pointer}/{escape_pointer(key)}"
            if key not in full:
                found.append(Place(below, "was announced, and is missing"))
            elif key not in announced:
                found.append(Place(below, "was not announced"))
            else:
                found.extend(differences(announced[key], full[key], below))
        return found
    if isinstance(announced, list) and isinstance(full, list) and len(announced) == len(full):
        return [
            place
            for index, (before, after) in enumerate(zip(announced, full, strict=True))
            for place in differences(before, after, f"{pointer}/{index}")
        ]
    if canonical_bytes(announced) == canonical_bytes(full):
        return []
    return [Place(pointer, "differs from what was announced")]

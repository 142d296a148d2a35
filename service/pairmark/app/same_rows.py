"""Two arms out of the same rows: a drop of zero that nobody measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairmark.domain.errors import Malformed

if TYPE_CHECKING:
    from pairmark.importers.base import Imported


def refuse_same_rows(benign: Imported, attacked: Imported, *, role: str = "attacked") -> None:
    """Refuse a benign arm that was read from rows of the attacked one.

    Raises:
        Malformed: `same-rows`. Arms may share a file, where each has rows of its own.
    """
    here, there = benign.places, attacked.places
    if here is None or there is None or not here.height or not there.height:
        return
    lines = here.drop_nulls("line").join(there.drop_nulls("line"), on=["file", "line"], how="semi").height
    whole = (
        not here["line"].count()
        and here.height == there.height
        and set(here["file"]) == set(there["file"])
        and not benign.set_aside
        and not attacked.set_aside
    )
    if lines or whole:
        raise Malformed(
            "same-rows", f"expected rows of its own in each arm, found {lines or here.height} that are read as the benign and as the {role} arm",
            here["file"][0], remedy="name the file of each arm, or say with `arms` in a mapping which rows are of which",
        )  # fmt: skip

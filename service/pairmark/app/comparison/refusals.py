"""Why two pairs may not be compared, as an error that says what differs and what could be compared instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pairmark.app.comparison.differing import Differing
from pairmark.domain.documents.comparison import Decompositions, FieldDifference
from pairmark.domain.errors import Conflict


@dataclass(eq=False)
class NotComparable(Conflict):
    """Two pairs that may not be compared as asked (exit 1, HTTP 409).

    Attributes:
        differing: the fields that differ and forbid it.
        nearest: the nearest set that can be compared: how many cells are common, with which shares, and which
            certificates compare directly with either side.
        decomposition: Kitagawa's split of the change in the headline numbers, where the mixes differ.
    """

    differing: tuple[FieldDifference, ...] = ()
    nearest: Mapping[str, Any] = field(default_factory=dict)
    decomposition: Decompositions | None = None

    @property
    def extensions(self) -> dict[str, Any]:
        """What a problem document says beside its own keys."""
        return {"differing": self.differing, "nearest": dict(self.nearest) or None, "decomposition": self.decomposition}


def refuse_other_measures(differing: Differing) -> None:
    """Raise NotComparable where metric definitions, or attack and system together, forbid any comparison."""
    by_name = {item.field: item for item in differing.fields}
    if "metric definition" in by_name:
        raise NotComparable(
            "metric-definitions-differ",
            "expected numbers of one metric definition, found two",
            "certify the older pair again, which computes its numbers anew",
            (by_name["metric definition"],),
        )
    if not differing.same_attack and not differing.same_system:
        names = [item.field for item in (*differing.attack, *differing.system, differing.defenses) if not item.holds]
        raise NotComparable(
            "attack-and-system-differ",
            "expected one attack on two systems, or two attacks on one system, found both to differ: what made the"
            " difference could not be told",
            "compare pairs that share the attack or the system",
            tuple(by_name[name] for name in names),
        )


def refuse_other_weighting(differing: Differing) -> None:
    """Raise NotComparable where the two suites weigh their cells by different rules."""
    found = [item for item in differing.fields if item.field == "weighting"]
    if found:
        raise NotComparable(
            "weightings-differ",
            f"expected one weighting, found {found[0].left} and {found[0].right}: numbers of two weightings are never"
            " subtracted, on whatever cells",
            "certify both pairs on suites of one weighting",
            tuple(found),
        )

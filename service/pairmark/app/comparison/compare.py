"""Compare certified pairs: the entry points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pairmark.app.comparison import standardised
from pairmark.app.comparison.cells import SharedCells
from pairmark.app.comparison.changes import SIGNIFICANT, paired_changes
from pairmark.app.comparison.conditioned import conditioned_changes
from pairmark.app.comparison.decomposition import decompositions
from pairmark.app.comparison.differing import Differing
from pairmark.app.comparison.flips import flip_tables
from pairmark.app.comparison.mix import mix_of, nearest_set, why_not_common
from pairmark.app.comparison.pair import CertifiedPair
from pairmark.app.comparison.rates import UTILITY_DROP
from pairmark.app.comparison.refusals import NotComparable, refuse_other_measures, refuse_other_weighting
from pairmark.domain.comparability import CellMatch
from pairmark.domain.documents.comparison import Change, Comparison, ComparisonSet, Decompositions, MixKind
from pairmark.domain.documents.probability import probability
from pairmark.domain.errors import Malformed
from pairmark.stats.hypothesis_tests import holm
from pairmark.stats.scope import FEW_INJECTIONS_FLAG

Reweight = Literal["common"]
MIX_FIELDS = ("suite.digest", "suite.name", "weighting")


def compare(left: CertifiedPair, right: CertifiedPair, reweight: Reweight | None = None) -> Comparison:
    """What changed from `left` to `right`, cell by cell.

    Pairs of one suite compare on all its cells. Pairs of two suites only if `reweight` is asked for: on the cells whose
    content is equal, or, where those are too few, with each side's groups weighed alike.

    Raises:
        NotComparable: what differs forbids it; with the nearest set that compares.
    """
    differing = Differing(left, right)
    refuse_other_measures(differing)
    plan = left.experiment.plan
    match = CellMatch(plan, plan if differing.same_mix else right.experiment.plan)
    shared = SharedCells(left, right, match)
    if differing.same_mix:
        return _document(differing, shared, "same-mix", None)
    if reweight is None:
        raise NotComparable(
            "different-mix",
            "expected two pairs over one suite digest, found two: headline numbers over different cells do not compare",
            "ask for `reweight=common`, or compare pairs of one suite",
            tuple(item for item in differing.fields if item.field in MIX_FIELDS),
            nearest_set(match),
        )
    refuse_other_weighting(differing)
    split = decompositions(left, right, match)
    refused = why_not_common(shared)
    if refused is None:
        return _document(differing, shared, "common-mix", split)
    also_refused = standardised.refusal(left, right)
    if also_refused is None:
        return _document(differing, shared, "standardised", split, refused)
    raise NotComparable(
        "no-common-mix",
        f"expected enough in common to reweight, found on the common cells: {refused}; by groups: {also_refused}",
        "compare pairs of one suite; the split of the change into within and mix is given beside this",
        tuple(item for item in differing.fields if item.field in MIX_FIELDS),
        nearest_set(match),
        split,
    )


def compare_several(
    left: CertifiedPair, others: Sequence[CertifiedPair], reweight: Reweight | None = None
) -> ComparisonSet:
    """`left` against each of several others, p-values adjusted by Holm over the pairs, for each rate apart.

    Raises:
        NotComparable: any two are not comparable.
        Malformed: fewer than two others, or one of them twice.
    """
    if len(others) < 2:
        raise Malformed(
            "too-few-pairs", f"expected at least two others, found {len(others)}", remedy="compare two pairs"
        )
    found = [compare(left, other, reweight) for other in others]
    return ComparisonSet.model_validate(
        {"schema": "pairmark/comparison-set/v1", "adjustment": "holm", "comparisons": tuple(adjusted(found))}
    )


def adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons with Holm's p-values; a change that was told apart alone may be tied beside the others."""
    changes: list[dict[str, Any]] = [dict(item.changes) for item in comparisons]
    for key in changes[0] if changes else ():
        tested = [
            (place, change)
            for place, of_pair in enumerate(changes)
            if isinstance(change := of_pair[key], Change) and change.p_value is not None
        ]
        for (place, change), p in zip(tested, holm([float(change.p_value or 1) for _, change in tested]), strict=True):
            standing = "tied" if p >= SIGNIFICANT else change.standing
            changes[place][key] = change.model_copy(update={"p_adjusted": probability(p), "standing": standing})
    return [
        item.model_copy(update={"changes": item.changes.model_copy(update=of_pair)})
        for item, of_pair in zip(comparisons, changes, strict=True)
    ]


def _document(
    differing: Differing,
    shared: SharedCells,
    kind: MixKind,
    split: Decompositions | None,
    why_not_common: str | None = None,
) -> Comparison:
    left, right = differing.left, differing.right
    changes = standardised.standardised_changes(left, right) if kind == "standardised" else paired_changes(shared)
    return Comparison.model_validate(
        {
            "schema": "pairmark/comparison/v1",
            "left": left.side(),
            "right": right.side(),
            "differs": differing.fields,
            "cautions": _cautions(differing, shared, kind, why_not_common),
            "mix": mix_of(shared, kind),
            "changes": changes,
            "flips": None if kind == "standardised" else flip_tables(shared),
            "conditioned": conditioned_changes(differing, shared, kind),
            "decomposition": split,
        }
    )


def _cautions(differing: Differing, shared: SharedCells, kind: MixKind, why_not_common: str | None) -> tuple[str, ...]:
    broken = {field.field for field in differing.broken}
    found = []
    if kind == "common-mix":
        found.append("the numbers are over the common cells only, and are not the headline numbers of either side")
    if kind == "standardised":
        found.append(
            f"the common cells were not enough ({why_not_common}): each side keeps its own cells, groups weigh alike"
        )
    sample = shared.sample(UTILITY_DROP)
    if kind != "standardised" and sample is not None and FEW_INJECTIONS_FLAG in sample.sample.scope.flags:
        found.append(f"few injections: {sample.sample.crossing.injection_count} are a small sample of what an attacker may try")
    if not differing.same_attack:
        found.append("two attacks on one system: a change tells the attacks apart, not systems")
    if any(name.startswith("harness.") for name in broken):
        found.append("the harnesses differ: part of a change may be the harness's")
    if "policy" in broken:
        found.append("the pairs were certified under two policies: what `certified` asked of them differs")
    if "epochs" in broken:
        found.append("epochs or seeds differ: cells are matched by epoch number, and one seed more or less is noise")
    tools = [{tool.name: tool.digest for tool in pair.experiment.suite.tools} for pair in (shared.left, shared.right)]
    if tools[0] != tools[1]:
        found.append("the suites' tools differ: the agents may have had other means for the same cells")
    return tuple(found)
